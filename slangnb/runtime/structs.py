"""Tells tensors of structs from before and after a change of the struct: its name alone stays the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from slangnb.errors import CallError
from slangnb.runtime.stale import tensors_in


def layout_of(t: Any) -> Hashable:
    """Give what decides how values of a type lie in memory: its name, and for structs all fields, in order."""
    from slangpy import native_refl as refl

    if isinstance(t, refl.StructType):
        fields = {f.name: t.fields[f.name].type for f in t.type_reflection.fields}
        return t.full_name, t.buffer_layout.stride, tuple([(name, layout_of(f)) for name, f in fields.items()])
    if isinstance(t, refl.ArrayType) and t.element_type is not None:
        return t.full_name, layout_of(t.element_type)
    return t.full_name


def has_struct(t: Any) -> bool:
    """Tell whether elements of a type are structs, or arrays of them."""
    return not isinstance(layout_of(t), str)


def check_structs(function: str, layout: Any, named: Mapping[Any, Any]) -> None:
    """Refuse tensors of structs that were made before the struct's module was compiled again with other fields.

    Parameters
    ----------
    function : str
    layout : slangpy's layout of types
        That of the function's module.
    named : mapping
        The values by name, also dicts of them.

    Raises
    ------
    CallError
    """
    for name, value in named.items():
        for t in tensors_in([value]):
            if not has_struct(t.dtype):
                continue
            now = layout.find_type_by_name(t.dtype.full_name)
            if now is not None and layout_of(now) != layout_of(t.dtype):
                struct = t.dtype.full_name
                raise CallError(
                    f"{function}: {str(name)!r} was made before {struct} changed: its fields lie elsewhere now",
                    function=function,
                    argument=str(name),
                    remedy=f"make it again: run the cell that makes it, or give the new {struct} another name",
                )
