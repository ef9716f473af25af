"""Reads what can be shown into a `PairModel`: SlangPy tensors, numpy arrays, numbers and lists of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slangnb.views.model import PairModel
from slangnb.views.source import is_struct, is_tensor, source


def read(thing: Any, name: str) -> PairModel:
    """Read a value, and its gradient where it has one, into plain data.

    Parameters
    ----------
    thing : slangpy.Tensor, numpy array, number, or nested list of numbers
    name : str

    Returns
    -------
    PairModel

    Raises
    ------
    CallError
        It cannot be drawn: complex, not numeric, a tensor of structs, a tensor whose device was closed, or one
        over 256 MiB on a device that is not the session's.

    Examples
    --------
    >>> read([1, 2, 3], "x").value.text
    '[1 2 3]'
    """
    return source(thing, name).model()


def rows(thing: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Unfold a dict of tensors, as structs are given, or a tensor of structs, into named rows.

    Examples
    --------
    >>> list(rows({"a": 1, "b": {"c": 2}}, "p"))
    [('p.a', 1), ('p.b.c', 2)]
    """
    if is_tensor(thing) and is_struct(thing):
        from slangnb.views.tensor_arrays import struct_rows

        yield from struct_rows(thing, name)
        return
    if not isinstance(thing, Mapping):
        yield name, thing
        return
    for key, part in thing.items():
        # "_type" names the Slang type in SlangPy's struct dicts; it is no field.
        if key != "_type":
            yield from rows(part, f"{name}.{key}" if name else str(key))
