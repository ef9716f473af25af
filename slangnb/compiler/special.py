"""Signatures that a module does not declare as such: a generic function with its types, and a method of a struct."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reflection import (
    SCALARS,
    SLANG_NAMES,
    FunctionInfo,
    Parameter,
    Signature,
    plain_name,
    signature,
    type_info,
)

if TYPE_CHECKING:
    from slangnb.compiler.loading import Loaded

#: The parameter of a method that stands for the struct itself.
THIS = "self"
_GENERIC = re.compile(r"(let\s+)?(\w+)\s*(?::[^,]*)?(?:,|$)")
_ARRAY = re.compile(r"(.+?)\s*\[\s*(\w+)\s*\]$")
_VECTOR = re.compile(r"vector\s*<\s*(\w+)\s*,\s*(\w+)\s*>$")


@dataclass(frozen=True, slots=True)
class Special:
    """A signature, the Slang text that calls it, and Slang text that must stand before."""

    signature: Signature
    call: str
    prelude: str = ""


def specialised(loaded: Loaded, name: str) -> Special | None:
    """Look up ``"square<float>"`` or ``"Light::intensity"``; None if there is no such function.

    A method gets the struct as a first parameter, called ``self``.
    """
    layout = loaded.module.layout
    if "::" in name:
        struct, _, method = name.rpartition("::")
        found_type = layout.find_type_by_name(struct)
        found = layout.find_function_by_name_in_type(found_type, method) if found_type is not None else None
        if found is None:
            return None
        own = signature(found)
        return Special(own, name) if found.static else _method(own, Parameter(THIS, type_info(found_type)))
    found = layout.find_function_by_name(name)
    if found is None or found.is_overloaded:  # which of several generic functions is meant, SlangPy must find out
        return None
    return Special(signature(found), name)


def _method(own: Signature, this: Parameter) -> Special:
    """Write the function that calls a method, since derivatives are of functions."""
    parameters = (this, *own.parameters)
    declared = ", ".join(map(str, parameters))
    passed = ", ".join(p.name for p in own.parameters)
    call = f"slangnb_{own.name}"
    mark = "[Differentiable] " if own.differentiable else ""
    back = "return " if own.returns.name != "void" else ""
    text = f"{mark}{plain_name(own.returns.name)} {call}({declared}) {{ {back}{THIS}.{own.name}({passed}); }}"
    return Special(Signature(own.name, parameters, own.returns, own.differentiable), call, text)


def infer(head: str, parameters: Mapping[str, str], values: Mapping[str, tuple[str, tuple[int, ...]]]) -> str | None:
    """Find the types of a generic function from the values of a call.

    Parameters
    ----------
    head : str
        What stands between ``<`` and ``>`` in the declaration, such as ``"T : IFloat, let N : int"``.
    parameters : mapping of str to str
        Declared types by name.
    values : mapping of str to (str, tuple of int)
        Scalar or element type, and shape, of each argument; where two tell of one type, the first counts.

    Returns
    -------
    str or None
        What to write between ``<`` and ``>``; None if a type cannot be told.

    Examples
    --------
    >>> infer("T : IFloat, let N : int", {"x": "T[N]", "y": "T"}, {"x": ("float", (5, 3)), "y": ("float", ())})
    'float, 3'
    """
    found: dict[str, str] = {}
    for name, (scalar, shape) in values.items():
        written = parameters.get(name, "")
        parts = _ARRAY.match(written) or _VECTOR.match(written)
        found.setdefault(parts.group(1) if parts else written, scalar)
        if parts and shape:
            found.setdefault(parts.group(2), str(shape[-1]))
    names = [m.group(2) for m in _GENERIC.finditer(head) if m.group(2)]
    return ", ".join(found[n] for n in names) if names and all(n in found for n in names) else None


def generic_head(signature_text: str, name: str) -> str:
    """Give what stands between ``<`` and ``>`` behind a function's name.

    Examples
    --------
    >>> generic_head("T square<T : IFloat>(T x)", "square")
    'T : IFloat'
    """
    found = re.search(rf"\b{re.escape(name)}\s*<(.*?)>\s*\(", signature_text) or re.search(
        r"__generic\s*<(.*?)>", signature_text
    )
    return found.group(1) if found else ""


def inferred(info: FunctionInfo, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Give a generic function's name with the types of a call; None for other functions, or if they cannot be told.

    Arrays and tensors tell the types first, then numpy's numbers, then Python's, which have no type of their own.
    """
    head, declared = ("", {}) if info.overloads else _written(info.source, info.name)
    if not head:
        return None
    values = {**dict(zip(declared, args, strict=False)), **kwargs}
    kinds = [
        (not hasattr(v, "dtype"), not kind[1], name, kind) for name, v in values.items() if (kind := slang_type_of(v))
    ]
    known = {name: kind for *_, name, kind in sorted(kinds, key=itemgetter(0, 1))}
    types = infer(head, declared, known)
    return f"{info.name}<{types}>" if types is not None else None


@lru_cache(256)
def _written(source: str, name: str) -> tuple[str, dict[str, str]]:
    """Read a function's generic parameters, and the types of its parameters, as they are written."""
    found = next((d for d in declarations(source) if d.kind == "function"), None)
    return (generic_head(found.signature, name), {p.name: p.type for p in found.parameters}) if found else ("", {})


def slang_type_of(value: Any) -> tuple[str, tuple[int, ...]] | None:
    """Give the scalar or element type of a value and its shape, as Slang would see it; None if that cannot be told."""
    if isinstance(value, bool):
        return "bool", ()
    dtype = getattr(value, "dtype", None)
    if dtype is None and isinstance(value, int | float):
        return "float", ()
    shape: Any = getattr(value, "shape", ())
    if dtype is None:
        return ("float", (len(value),)) if isinstance(value, list | tuple) else None
    if hasattr(dtype, "full_name"):
        return plain_name(dtype.full_name), shape.as_tuple()
    name = dtype if isinstance(dtype, str) else dtype.newbyteorder("=").name
    name = SLANG_NAMES.get(name, name)
    return (name, tuple(shape)) if name in SCALARS else None
