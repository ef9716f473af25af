"""Turns what SlangPy raises at a call into one of our errors: short, naming the argument, with a remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slangnb.compiler.advice.remedies import with_remedies
from slangnb.compiler.diagnostics import parse
from slangnb.compiler.graph import Known
from slangnb.compiler.reflection import FunctionInfo, plain_name
from slangnb.compiler.source import Source
from slangnb.errors import CallError, CompileError, Diagnostic, GradientError, SlangNbError
from slangnb.runtime.binding import Bound
from slangnb.runtime.checks import called, retyped, tensor_called, what_fits
from slangnb.runtime.extents import call_shape, unequal
from slangnb.runtime.memory import is_exhausted, making_room

#: Slang's own way of writing an error; a text with it is a compiler's, not a binding's.
COMPILER_ERROR = re.compile(r"error\[E\d+\]|nvrtc [\d.]+: .*error")
_NVRTC = re.compile(r"nvrtc [\d.]+: [^\n]*?error ?: ([^\n]*)")
_NO_GRADIENT = re.compile(r"Type '(?:RW|W)?DiffTensor<(.*), *\d+>' not found")
_SHAPE = re.compile(r"Shape mismatch for (\S+) between value \((.*?)\) and call \((.*?)\)")
_MARSHALL = re.compile(r"Failed to create type marshall for argument (\S+):.*?with error:\s*(.*)", re.S)
_ARGUMENT = re.compile(r"Argument (\S+) could not be resolved: (.*)")
_CONVERSION = re.compile(r"Could not find suitable conversion from GridArg<(\d+)> to ")
_REASON = re.compile(r"Summary:\n.*\n {4}(.*)")


def compile_error(text: str, sources: Mapping[str, Source], known: Known | None = None) -> CompileError:
    """Make a CompileError of a compiler's text, with remedies; `known` says what other cells declare."""
    found = _NVRTC.search(text)
    if found and "error[E" not in text:
        # Slang made code that the CUDA compiler refuses: the same fault that is E99997 for other targets.
        message = f"the CUDA compiler refuses the code that Slang made: {found.group(1)}"
        return CompileError(with_remedies([Diagnostic("error", "E99997", message)], sources))
    return CompileError(with_remedies(parse(text, sources), sources, known))


def call_error(
    error: Exception, info: FunctionInfo, bound: Bound | None, sources: Mapping[str, Source]
) -> SlangNbError:
    """Translate an exception of SlangPy.

    Parameters
    ----------
    error : Exception
        What SlangPy raised.
    info : FunctionInfo
        The function that was called.
    bound : Bound or None
        Its arguments, where they could be bound.
    sources : mapping of str to Source
        Sources by module name, for the compiler's messages.
    """
    text = str(error)
    if COMPILER_ERROR.search(text):
        return compile_error(text, sources)
    name = info.name
    if is_exhausted(error):
        sizes = " x ".join(map(str, call_shape(bound))) if bound is not None else ""
        return CallError(
            f"{name}: the device has not enough memory for this call{sizes and f' of {sizes} elements'}",
            function=name,
            remedy=making_room(),
        )
    found = _NO_GRADIENT.search(text)
    if found:
        element = plain_name(found.group(1))
        return GradientError(
            f"{name}: tensors of {element} cannot carry a gradient: SlangPy 0.43 adds gradients with atomics, "
            f"and there are none for {element}",
            function=name,
            remedy="use float: write the function for float, and cast with sn.tensor(x, dtype='float', grad=True)",
        )
    found = _SHAPE.search(text)
    if found:
        argument, *shapes = found.groups()
        own, others = (tuple(map(int, re.findall(r"\d+", sizes))) for sizes in shapes)
        return unequal(name, argument, own, others)
    found = _MARSHALL.search(text)
    if found:
        argument, reason = found.groups()
        reason = reason.strip().splitlines()[0]
        return CallError(
            f"{name}: an argument of this kind cannot be passed: {_tidy_reason(reason)}",
            function=name,
            argument=_argument_name(argument, info),
            remedy="pass numbers, numpy arrays, SlangPy or torch tensors, or dicts of them for structs; "
            "of another library's array, np.asarray(x)",
        )
    if len(info.overloads) > 1 and bound is None and "Could not call function" in text:
        return CallError(
            f"{name}: SlangPy cannot tell which overload is meant by these arguments",
            function=name,
            remedy=f"give the functions different names; {_signatures(info)}",
        )
    better = _grid(text, info, bound) or _mismatch(text, info, bound)
    return better or CallError(
        f"{name}: {_gist(text) or type(error).__name__}", function=name, remedy=_signatures(info)
    )


def _gist(text: str) -> str:
    """Give the line of SlangPy's text that says most."""
    found = _REASON.search(text) if "Could not call function" in text else None
    if found is not None:
        return found.group(1)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first.removeprefix("Exception in kernel generation: ")


def _tidy_reason(reason: str) -> str:
    reason = reason.replace("Unsupported type <class ", "type ").rstrip(">")
    return reason.replace("dtype(", "elements of type ").rstrip(")") if reason.startswith("dtype(") else reason


def _argument_name(argument: str, info: FunctionInfo) -> str:
    if info.signature is not None and argument.startswith("arg") and argument[3:].isdigit():
        position = int(argument[3:])
        if position < len(info.signature.parameters):
            return info.signature.parameters[position].name
    return argument


def _grid(text: str, info: FunctionInfo, bound: Bound | None) -> CallError | None:
    """A grid of other dimensions than the parameter has: ``spy.grid(3)`` means three dimensions."""
    found = _CONVERSION.search(text)
    slot = next((s for s in bound.slots if type(s.value).__name__ == "GridArg"), None) if bound is not None else None
    if found is None or slot is None:
        return None
    dims, p = int(found.group(1)), slot.parameter
    name, wanted = plain_name(p.type.name), 1 if p.type.kind == "scalar" else sum(p.type.shape)
    if p.type.scalar not in ("int", "uint"):
        remedy = "a grid counts elements: make the parameter an int or a uint"
    elif wanted == 1 and max(slot.value.shape) < 0:
        remedy = f"spy.grid({dims}) has {dims} dimensions; for {dims} elements write spy.grid(({dims},))"
    else:
        remedy = (
            f"give a size for each of its dimensions: spy.grid(({', '.join('nmkl'[:wanted])}{',' * (wanted == 1)}))"
        )
    return CallError(
        f"{info.name}: {p.name!r} is a grid of {dims} dimension{'s' * (dims != 1)}, but the parameter is {name}",
        function=info.name,
        argument=p.name,
        remedy=remedy,
    )


def _mismatch(text: str, info: FunctionInfo, bound: Bound | None) -> CallError | None:
    """An argument of a type that the parameter cannot take: say both types, and the cast if there is one."""
    import slangpy as spy

    found = _ARGUMENT.search(text)
    if found is None or bound is None:
        return None
    which = found.group(1)
    argument = _argument_name(f"arg{which}", info) if which.isdigit() else which
    slot = next((s for s in bound.slots if s.parameter.name == argument), None)
    if slot is None:
        return None
    t, value = slot.parameter.type, slot.value
    given, remedy = called(value), what_fits(t)
    if isinstance(value, spy.Tensor):
        given = tensor_called(value)
        remedy = retyped(argument, t) if value.dtype.full_name != (t.element or t.scalar) else _signatures(info)
    return CallError(
        f"{info.name}: {argument!r} is {given}, but the parameter is {plain_name(t.name)}",
        function=info.name,
        argument=argument,
        remedy=remedy or _signatures(info),
    )


def _signatures(info: FunctionInfo) -> str:
    if not info.overloads:
        return ""
    return "its signature is " + " or ".join(str(s) for s in info.overloads)
