"""Tells sources that slangtorch compiles from others, and finds what its compiler reports badly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slangnb.compiler.finding import finding
from slangnb.compiler.reading.declarations import Declaration, declarations
from slangnb.compiler.reading.scan import Positions, masked
from slangnb.compiler.reflection import SCALARS
from slangnb.compiler.source import Source
from slangnb.errors import Diagnostic

#: Attributes that only slangtorch gives a meaning to.
ENTRY, KERNEL, BOUND = "TorchEntryPoint", "CudaKernel", "AutoPyBindCUDA"
_MARK = re.compile(rf"\[\s*({ENTRY}|{KERNEL}|{BOUND})\s*\]")
#: Slang has these too, but code for PyTorch cannot hold tensors of them: the compiler stops, or each call fails.
_NO_DTYPES = {"uint": "int", "uint32_t": "int", "uint64_t": "int64_t", "uint16_t": "int16_t", "int8_t": "int16_t"}
#: Element types of tensors, and what PyTorch calls them.
DTYPES = {s: n for s, n in SCALARS.items() if s not in _NO_DTYPES} | {"BFloat16": "bfloat16", "bool": "bool"}
_TENSOR = re.compile(r"\b(TorchTensor|TensorView)\s*<\s*(\w+)\s*>")
_BOUND_CHECK = re.compile(r"(\w+)\s*\.\s*([xyz])\s*(>=?)\s*(\w+)\s*\.\s*size\s*\(\s*(\d)\s*\)")


def torch_mark(text: str) -> str:
    """Give the first attribute that makes `text` a source for slangtorch, or "" if there is none.

    Examples
    --------
    >>> torch_mark("[ CudaKernel ] void f() {}"), torch_mark("// [TorchEntryPoint]")
    ('CudaKernel', '')
    """
    found = _MARK.search(masked(text))
    return found.group(1) if found else ""


def element(type_text: str) -> str:
    """Give the element type of a tensor's type; "" when it is no tensor.

    Examples
    --------
    >>> element("TorchTensor<float>"), element("TensorView<float3>"), element("float")
    ('float', 'float3', '')
    """
    found = _TENSOR.fullmatch(type_text.replace(" ", ""))
    return found.group(2) if found else ""


def exports(text: str) -> list[Declaration]:
    """Give the functions that Python can call, in order.

    Examples
    --------
    >>> [d.name for d in exports("[TorchEntryPoint] int f() { return 1; }\\n[CudaKernel] void k() {}")]
    ['f']
    """
    return [d for d in declarations(text) if d.kind == "function" and {ENTRY, BOUND} & set(d.attributes)]


def problems(source: Source) -> list[Diagnostic]:
    """Find what slangtorch's compiler crashes on, and what it takes and gets wrong.

    Examples
    --------
    >>> text = "[AutoPyBindCUDA]\\nvoid f(TensorView<float> x) { x[0] = 1; }"
    >>> print(problems(Source(text, "In[3]", 2))[0].render())
    error: slangtorch's compiler crashes on [AutoPyBindCUDA] without [CudaKernel].
      --> In[3], line 3
      3 | void f(TensorView<float> x) { x[0] = 1; }
        |      ^
      remedy: write both: `[AutoPyBindCUDA] [CudaKernel]`
    """
    where, code = Positions(source.text), masked(source.text)
    declared = [d for d in declarations(source.text) if d.kind == "function"]
    return [
        *_nothing_exported(source, where, code, declared),
        *_half_bound(source, where, code, declared),
        *_unknown_elements(source, where, code),
        *_bound_checks(source, where, code),
    ]


def _at(source: Source, where: Positions, code: str, d: Declaration, message: str, remedy: str) -> Diagnostic:
    """Make an error at a function's name."""
    opening = d.body[0] if d.body != (0, 0) else d.span[1]
    found = re.compile(rf"\b{re.escape(d.name)}\s*(?=[(<])").search(code, d.span[0], opening)
    offset = found.start() if found else d.span[0]
    return finding(source, where, offset, len(d.name), message, remedy)


def _nothing_exported(source: Source, where: Positions, code: str, declared: list[Declaration]) -> Iterator[Diagnostic]:
    if any({ENTRY, BOUND} & set(d.attributes) for d in declared) or "import" in code:
        return
    kernel = next((d for d in declared if KERNEL in d.attributes), None)
    message = "nothing here can be called from Python."
    if kernel is None:
        remedy = "mark a function that launches kernels with [TorchEntryPoint]"
        yield Diagnostic("error", "", message, source.label, remedy=remedy)
    else:
        remedy = f"add [{BOUND}] to {kernel.name}, or write a function with [{ENTRY}] that launches it"
        yield _at(source, where, code, kernel, message, remedy)


def _half_bound(source: Source, where: Positions, code: str, declared: list[Declaration]) -> Iterator[Diagnostic]:
    for d in declared:
        if BOUND in d.attributes and KERNEL not in d.attributes:
            message = f"slangtorch's compiler crashes on [{BOUND}] without [{KERNEL}]."
            yield _at(source, where, code, d, message, f"write both: `[{BOUND}] [{KERNEL}]`")


def _unknown_elements(source: Source, where: Positions, code: str) -> Iterator[Diagnostic]:
    for found in _TENSOR.finditer(code):
        kind, name = found.groups()
        scalar = name.rstrip("234")
        if re.fullmatch(r"[a-z]+\dx\d", name):
            remedy = f"write {kind}<{name[:-3]}>, with two more dimensions"
        elif scalar in _NO_DTYPES:
            remedy = f"write {kind}<{_NO_DTYPES[scalar]}{name[len(scalar) :]}>"
        else:
            continue
        message = f"slangtorch has no tensors of {name}."
        yield finding(source, where, found.start(2), len(name), message, remedy)


def _bound_checks(source: Source, where: Positions, code: str) -> Iterator[Diagnostic]:
    """Warn of the slip in slangtorch's own first example: it runs, and reads behind the end."""
    lines: dict[int, list[re.Match[str]]] = {}
    for found in _BOUND_CHECK.finditer(code):
        lines.setdefault(where.at(found.start())[0], []).append(found)
    for checks in lines.values():
        wrong = [(found, right) for found in checks if (right := _right_check(found, checks))]
        if not wrong:
            continue
        if any(found.group(3) == ">" for found, _ in wrong):
            message = "this lets an index be equal to the size, one behind the end."
        else:
            message = f"{wrong[0][0].group(1)}.{wrong[0][0].group(2)} is compared with two sizes."
        start, end = wrong[0][0].start(), wrong[-1][0].end()
        remedy = "write " + ", and ".join(f"`{right}`" for _, right in wrong)
        yield finding(source, where, start, end - start, message, remedy, "warning")


def _right_check(found: re.Match[str], beside: list[re.Match[str]]) -> str:
    """Give what a comparison should be, "" when it is right: with >=, and each size with its own component."""
    index, component, sign, tensor, dimension = found.groups()
    twice = any(o.group(1, 2) == (index, component) and o.group(5) != dimension for o in beside)
    wanted = "xyz"[int(dimension)] if twice and int(dimension) < 3 else component
    return f"{index}.{wanted} >= {tensor}.size({dimension})" if sign == ">" or wanted != component else ""
