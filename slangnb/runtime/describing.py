"""What a Slang function tells Python's own tools: docstring and signature."""

from __future__ import annotations

import inspect
import keyword

from slangnb.compiler.reflection import FunctionInfo, plain_name


def describe(info: FunctionInfo, module: str) -> str:
    """Write the docstring of a Slang function: signatures, its comment, whether it is differentiable."""
    kind = "Differentiable." if info.differentiable else "Not differentiable."
    heads = [str(s) for s in info.overloads] or [info.source.splitlines()[0] if info.source else info.name]
    return "\n".join([*heads, "", *([info.doc, ""] if info.doc else []), f"{kind} From {module}."])


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
