"""What ``%slang`` does: one function for each word."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangnb.compiler.reading.scan import masked
from slangnb.devices import backend as backends
from slangnb.errors import CallError
from slangnb.notebook import torch_cells
from slangnb.notebook.files import instead_of
from slangnb.notebook.first_line import SLANG_CODE, TWO_SIGNS
from slangnb.notebook.options import target, without_comment
from slangnb.runtime.current import has_session, session
from slangnb.runtime.function import Function
from slangnb.runtime.kernelcode import kernel_code
from slangnb.runtime.module import Module

if TYPE_CHECKING:
    from slangnb.notebook.magics import SlangMagics
    from slangnb.runtime.session import Session

CLOSED = "closed; functions and tensors of the old device are gone, run the cells again"
#: The longest line that says what was compiled, if it has commas.
_WIDTH = 88
#: A comma that is not inside of parentheses.
_BETWEEN = re.compile(r", (?![^()]*\))")
#: What no command has.
_CODE = re.compile(r"[(){};]|\[\w")
#: What makes a function an entry point.
_ENTRY_POINT = re.compile(r"\[\s*(?:shader\s*\(|numthreads\s*\()")

HELP = """\
%slang devices                        the backends of this machine, and which of them work
%slang use BACKEND                    switch: cuda, vulkan, metal, d3d12, software
%slang modules                        named cells and loaded files
%slang load FILE                      compile a .slang file; its functions become Python names
%slang source F                       the Slang text of a function
%slang code F [--target T] [--bwd]    the kernel made for it: slang, hlsl, glsl, spirv-asm, cuda, metal, wgsl
%slang doctor                         versions, drivers, probes, caches, and what to do about what is missing
%slang reset                          close the device; the next cell starts afresh
%%slang --check                       compile the cell, and compare its gradients with differences
%%slang --torch                       compile the cell for PyTorch on CUDA, through slangtorch
%%slang?                              the options of a Slang cell

import slangnb as sn
sn.tensor(data, grad=True)            a tensor on the device, with room for a gradient
sn.show(x, ...)                       value beside gradient
sn.value_and_grad(f, wrt="x")(...)    the sum of f and its gradient; sn.grad: the gradient alone
sn.gradcheck(f, ...)                  the gradients compared with differences, as a table
sn.explore(f, x=(-3, 3), a=(0, 5))    a function and its derivative over a range, with sliders
sn.optimize(f, params, data)          a fit: sn.Adam(lr=0.05), sn.SGD(lr=0.1); .params, .history
sn.landscape(f, a=(-2, 2), b=(-2, 2)) a loss over two of its parameters
sn.Parameter(2.0)                     a value that all elements share; f.bwds fills its .grad
f(...), f.bwds(...), f?, f??          call a Slang function, its backward pass, its signature, its source"""


def functions_of(module: Module) -> list[Function]:
    """Give the functions of a module in the order of their declaration."""
    found = (module[name] for name in module)
    return [f for f in found if isinstance(f, Function)]


def summary(module: Module) -> str:
    """Say what a module defines, in one line where that is short enough.

    Examples
    --------
    >>> import slangnb as sn
    >>> print(summary(sn.session().compile("[Differentiable] float square(float x) { return x * x; }")))
    compiled square(x) [differentiable]
    """
    parts = []
    for function in functions_of(module):
        info = function.info
        names = ", ".join(p.name for p in info.signature.parameters) if info.signature else "..."
        parts.append(f"{info.name}({names})" + (" [differentiable]" if info.differentiable else ""))
    parts += [f"struct {n}" for n in module if n not in {f.info.name for f in functions_of(module)}]
    if not parts and any(_ENTRY_POINT.search(masked(text)) for text in session().texts_of(module)):
        return (
            "compiled entry points, which are not called from Python: "
            "write a plain function, as `float twice(float x) { return 2 * x; }`; slangnb makes the kernel"
        )
    return folded("compiled " + (", ".join(parts) or "an empty module: it defines no function and no struct"))


def folded(words: str) -> str:
    """Break a long line after commas, inside of parentheses only where it must be; what goes on is indented.

    Examples
    --------
    >>> print(folded("compiled " + ", ".join(f"{name}(a, x) [differentiable]" for name in ("one", "two", "three"))))
    compiled one(a, x) [differentiable], two(a, x) [differentiable],
        three(a, x) [differentiable]
    """
    lines = [""]
    for part in _BETWEEN.split(words):
        for piece in [part] if len(part) < _WIDTH - 4 else part.split(", "):
            if len(lines[-1]) + len(piece) + 3 > _WIDTH:  # with the commas before and after it
                lines.append(f"    {piece}")
            else:
                lines[-1] += f", {piece}" if lines[-1] else piece
    return ",\n".join(lines)


def run(magics: SlangMagics, line: str) -> None:
    """Run a ``%slang`` line.

    Raises
    ------
    CallError
        For an unknown word or a missing argument.
    """
    first = line.split(maxsplit=1)[:1]
    if first and first[0] not in COMMANDS and _CODE.search(line):
        raise CallError(SLANG_CODE, remedy=TWO_SIGNS)
    try:
        word, *rest = shlex.split(without_comment(line)) or ["help"]
    except ValueError as error:
        raise CallError(f"%slang: {error}", remedy="%slang help") from None
    if word not in COMMANDS:
        close = difflib.get_close_matches(word, COMMANDS, 1, 0.5)
        raise CallError(
            f"%slang: there is no command {word!r}",
            remedy=f"did you mean `%slang {close[0]}`?" if close else "%slang help",
        )
    COMMANDS[word](magics, rest)


def _one(rest: list[str], usage: str) -> str:
    if len(rest) != 1:
        raise CallError(f"%slang: write `%slang {usage}`")
    return rest[0]


def _none(rest: list[str], word: str) -> None:
    if rest:
        raise CallError(f"%slang: {word} takes nothing more, not {rest[0]!r}", remedy=f"write `%slang {word}`")


def say_broken(current: Session) -> None:
    """Tell which modules do not compile any more, and why."""
    for label, reason in current.take_broken():
        print(f"warning: {label} does not compile any more:\n{reason}")


def _devices(_magics: SlangMagics, rest: list[str]) -> None:
    _none(rest, "devices")
    for found in map(backends.probe, backends.enumerate_backends()):
        current = has_session() and session().backend.key == found.key
        state = "in use" if current else "works" if found.ok else f"refused: {found.reason}"
        print(f"{found.key:<9} {found.adapter:<40} {state}")


def _use(_magics: SlangMagics, rest: list[str]) -> None:
    s = session()
    s.use(_one(rest, "use BACKEND"))
    print(f"using {s.backend.key}")
    say_broken(s)


def _modules(_magics: SlangMagics, rest: list[str]) -> None:
    _none(rest, "modules")
    modules = session().modules
    for name, module in modules.items():
        print(f"{Path(name).name}: {', '.join(module)}")
    if not modules:
        print("no named cells and no loaded files; name a cell with `%%slang NAME`")


def _load(magics: SlangMagics, rest: list[str]) -> None:
    path = _one(rest, "load FILE")
    if not Path(path).exists():
        raise CallError(f"there is no file {path}", remedy=instead_of(path))
    if torch_cells.load_file(magics, path):
        return
    s = session()
    module = s.load(path, warn=False)
    for warning in s.take_warnings():
        print(warning.render())
    notes = magics.export(module, None, None, f"rename it in {Path(path).name} to call it")
    print("; ".join([summary(module), *notes]))
    say_broken(s)


def _function(magics: SlangMagics, name: str) -> Function:
    found = magics.shell.user_ns.get(name)
    if not isinstance(found, Function):
        names = [n for n, v in magics.shell.user_ns.items() if isinstance(v, Function)]
        close = difflib.get_close_matches(name, names, 1, 0.5)
        raise CallError(
            f"{name!r} is no Slang function of this notebook",
            remedy=f"did you mean {close[0]!r}?" if close else "run the cell that defines it first",
        )
    return found


def _source(magics: SlangMagics, rest: list[str]) -> None:
    print(_function(magics, _one(rest, "source F")).source)


def _code(magics: SlangMagics, rest: list[str]) -> None:
    backward = "--bwd" in rest
    words = [w for w in rest if w != "--bwd"]
    wanted = "slang"
    if "--target" in words:
        at = words.index("--target")
        if at + 1 >= len(words):
            raise CallError("%slang: --target needs a name", remedy="for example --target hlsl")
        wanted = words[at + 1]
        del words[at : at + 2]
    function = _function(magics, _one(words, "code F [--target T] [--bwd]"))
    print(kernel_code(function, target(wanted), backward))


def _doctor(_magics: SlangMagics, rest: list[str]) -> None:
    _none(rest, "doctor")
    from slangnb.devices.doctor import report

    print(report())


def _reset(magics: SlangMagics, rest: list[str]) -> None:
    _none(rest, "reset")
    close()
    gone: list[Any] = [n for n, v in magics.shell.user_ns.items() if isinstance(v, Function | Module)]
    for name in gone:
        del magics.shell.user_ns[name]
    print(CLOSED)


def close() -> bool:
    """Close the device; tell whether one was open."""
    if not has_session():
        return False
    session().close()
    return True


#: What each word does.
COMMANDS: dict[str, Callable[[SlangMagics, list[str]], None]] = {
    "devices": _devices,
    "use": _use,
    "modules": _modules,
    "load": _load,
    "source": _source,
    "code": _code,
    "doctor": _doctor,
    "reset": _reset,
    "help": lambda _m, _r: print(HELP),
}
