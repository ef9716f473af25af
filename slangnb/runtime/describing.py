"""What a Slang function tells Python's own tools: docstring and signature."""

from __future__ import annotations

import difflib
import inspect
import keyword
from collections.abc import Iterable

from slangnb.compiler.reflection import FunctionInfo, TypeInfo, plain_name


def describe(info: FunctionInfo, module: str) -> str:
    """Write the docstring of a Slang function: signatures, its comment, whether it is differentiable."""
    kind = "Differentiable." if info.differentiable else "Not differentiable."
    heads = [str(s) for s in info.overloads] or [info.source.splitlines()[0] if info.source else info.name]
    how = how_to_call(info)
    return "\n".join([*heads, "", *([info.doc, ""] if info.doc else []), f"{kind} From {module}.", *how])


def how_to_call(info: FunctionInfo) -> list[str]:
    """Say how Python calls a function, what comes back, and how to get its gradient; nothing for overloads.

    Examples
    --------
    >>> from slangnb.compiler.reflection import Parameter, Signature, TypeInfo
    >>> number = TypeInfo("float", "scalar", "float", differentiable=True)
    >>> f = Signature("f", (Parameter("a", number), Parameter("x", number)), number, True)
    >>> print(*how_to_call(FunctionInfo("f", (f,), 1)), sep="\\n")
    <BLANKLINE>
    In Python: f(a=2.0, x=2.0)
    With an array or a tensor for any argument it gives a tensor,
    or an array with _result='numpy'.
    Gradient: sn.grad(f, wrt="x")(a=2.0, x=2.0)
    """
    signature = info.signature
    if signature is None:
        return []
    inputs = {p.name: _example(p.type) for p in signature.parameters if p.io != "out"}
    outputs = {p.name: "array" for p in signature.parameters if p.io == "out"}
    lines = ["", f"In Python: {info.name}({_given(inputs | outputs)})"]
    if signature.returns.name != "void":
        lines += ["With an array or a tensor for any argument it gives a tensor,", "or an array with _result='numpy'."]
    wrt = [p.name for p in signature.parameters if p.derivable and p.io != "out"]
    if signature.differentiable and wrt:
        lines += [f'Gradient: sn.grad({info.name}, wrt="{wrt[-1]}")({_given(inputs)})']
    return lines


def _given(values: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _example(t: TypeInfo) -> str:
    """Write a value that a parameter takes."""
    if t.kind == "tensor":
        return "sn.tensor(...)"
    if t.kind == "struct":
        return "{" + ", ".join(f"{name!r}: ..." for name in t.fields) + "}"
    number = {"float": "2.0", "half": "2.0", "double": "2.0", "bool": "True"}.get(t.scalar, "2" if t.scalar else "...")
    return f"[{', '.join([number] * t.shape[0])}]" if t.kind == "vector" else number if t.kind == "scalar" else "..."


def python_signature(info: FunctionInfo) -> inspect.Signature:
    """Give parameters and types to Python's own tools."""
    if info.signature is None:
        kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, k) for n, k in zip(("args", "kwargs"), kinds, strict=True)])
    names = [
        inspect.Parameter(p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=plain_name(p.type.name))
        for p in info.signature.parameters
        if p.name.isidentifier() and not keyword.iskeyword(p.name)
    ]
    return inspect.Signature(names, return_annotation=plain_name(info.signature.returns.name))


#: What people look for in a function, and where it is; of frameworks that name it otherwise.
_ELSEWHERE = {
    "backward": "the backward pass is {0}.bwds(..., _result=y)",
    "fwds": "forward mode is sn.jvp({0}, ...)",
    "forward": "call {0}(...) itself; forward mode is sn.jvp({0}, ...)",
    **{name: f"write sn.{name}({{0}}, ...)" for name in ("jvp", "vjp", "gradcheck")},
    **{name: f"write sn.{name}({{0}})(...)" for name in ("grad", "value_and_grad", "hvp")},
}


def no_attribute(function: str, name: str, known: Iterable[str]) -> str:
    """Say that a function has no such attribute, and what may be meant.

    Examples
    --------
    >>> no_attribute("f", "backward", [])
    "the slang function f has no attribute 'backward'; the backward pass is f.bwds(..., _result=y)"
    """
    close = difflib.get_close_matches(name, {k for k in known if not k.startswith("_")}, 1, 0.6)
    hint = _ELSEWHERE[name].format(function) if name in _ELSEWHERE else f"did you mean {close[0]!r}?" if close else ""
    return f"the slang function {function} has no attribute {name!r}" + f"; {hint}" * bool(hint)
