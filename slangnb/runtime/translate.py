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

#: Slang's own way of writing an error; a text with it is a compiler's, not a binding's.
COMPILER_ERROR = re.compile(r"error\[E\d+\]|nvrtc [\d.]+: .*error")
_NVRTC = re.compile(r"nvrtc [\d.]+: [^\n]*?error ?: ([^\n]*)")
_NO_GRADIENT = re.compile(r"Type '(?:RW|W)?DiffTensor<(.*), *\d+>' not found")
_SHAPE = re.compile(r"Shape mismatch for (\S+) between value \((.*?)\) and call \((.*?)\)")
_MARSHALL = re.compile(r"Failed to create type marshall for argument (\S+):.*?with error:\s*(.*)", re.S)
_ARGUMENT = re.compile(r"Argument (\S+) could not be resolved: python type (.*?) does not match slang type (.*?)\.\n")


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
        argument, value, call = found.groups()
        return CallError(
            f"{name}: {argument!r} has shape ({value}), which does not fit the other arguments' ({call})",
            function=name,
            argument=argument,
            remedy="sizes must be equal or 1 in every dimension",
        )
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
    mismatch = _mismatch(text, info, bound)
    if mismatch is not None:
        return mismatch
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return CallError(f"{name}: {first}", function=name, remedy=_signatures(info))


def _tidy_reason(reason: str) -> str:
    reason = reason.replace("Unsupported type <class ", "type ").rstrip(">")
    return reason.replace("dtype(", "elements of type ").rstrip(")") if reason.startswith("dtype(") else reason


def _argument_name(argument: str, info: FunctionInfo) -> str:
    if info.signature is not None and argument.startswith("arg") and argument[3:].isdigit():
        position = int(argument[3:])
        if position < len(info.signature.parameters):
            return info.signature.parameters[position].name
    return argument


def _mismatch(text: str, info: FunctionInfo, bound: Bound | None) -> CallError | None:
    """An argument of a type that the parameter cannot take: say both types, and the cast if there is one."""
    import slangpy as spy

    found = _ARGUMENT.search(text)
    if found is None:
        return None
    which, _, wanted = found.groups()
    argument = _argument_name(f"arg{which}", info) if which.isdigit() else which
    value = None
    if bound is not None:
        value = next((s.value for s in bound.slots if s.parameter.name == argument), None)
    given = type(value).__name__
    remedy = _signatures(info)
    if isinstance(value, spy.Tensor):
        dims = len(value.shape.as_tuple())
        given = f"a {dims}-dimensional tensor of {plain_name(value.dtype.full_name)}"
        scalar = bound and next(s.parameter.type.scalar for s in bound.slots if s.parameter.name == argument)
        if scalar and scalar != value.dtype.full_name:
            remedy = f"cast it: {argument} = sn.tensor({argument}, dtype={scalar!r})"
    elif value is None and bound is not None:
        given = "None"
    return CallError(
        f"{info.name}: {argument!r} is {given}, but the parameter is {plain_name(wanted)}",
        function=info.name,
        argument=argument,
        remedy=remedy,
    )


def _signatures(info: FunctionInfo) -> str:
    if not info.overloads:
        return ""
    return "its signature is " + " or ".join(str(s) for s in info.overloads)
