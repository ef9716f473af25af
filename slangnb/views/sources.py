"""Reads what can be shown: SlangPy tensors, numpy arrays, numbers, lists of numbers, and what has an adapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from slangnb.errors import CallError
from slangnb.runtime.foreign import refuse_masked
from slangnb.views.adapters import AdaptedSource, Reading, adapter
from slangnb.views.array_source import ArraySource
from slangnb.views.device_source import TensorSource
from slangnb.views.measure import Array
from slangnb.views.model import PairModel
from slangnb.views.source import Source, is_struct, is_tensor
from slangnb.views.tensor_arrays import struct_rows, tensor_reading
from slangnb.views.text import no_array


def source(thing: Any, name: str) -> Source:
    """Give the source of what can be shown.

    Parameters
    ----------
    thing : slangpy.Tensor or Texture, Parameter, torch.Tensor, numpy array, number, or nested list of numbers
    name : str

    Returns
    -------
    Source

    Raises
    ------
    CallError
        It cannot be drawn: complex, not numeric, a tensor of structs.

    Examples
    --------
    >>> source([[1, 2], [3, 4]], "x").probe((1, 0))
    (3, None)
    """
    if is_tensor(thing):
        return TensorSource(thing, name)
    read = adapter(thing, name)
    if read is not None:
        return AdaptedSource(read, name)
    array = _array(thing, name)
    if isinstance(thing, np.ndarray) and array.dtype.kind in "OSUV":
        raise CallError(
            f"{name} is an array of dtype {array.dtype}, which holds no numbers to show",
            remedy="give an array of numbers, as x.astype(np.float32) makes it",
        )
    if array.dtype.kind in "OSUV":
        what = "None" if thing is None else f"of the type {type(thing).__name__!r}"
        remedy = "give a tensor, a numpy array or a number; for several write show(a, b)"
        if callable(thing):
            remedy = "call it first: sn.show(f(...))"
        raise CallError(f"{name} is {what}, which holds no numbers to show", remedy=remedy)
    return ArraySource(array, name=name)


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
        yield from struct_rows(thing, name)
        return
    if not isinstance(thing, Mapping):
        yield name, thing
        return
    for key, part in thing.items():
        # "_type" names the Slang type in SlangPy's struct dicts; it is no field.
        if key != "_type":
            yield from rows(part, f"{name}.{key}" if name else str(key))


def pair_arrays(thing: Any, name: str) -> Reading:
    """Read a value and its gradient whole, as a scatter needs them.

    Parameters
    ----------
    thing : SlangPy tensor, numpy array, number, nested list, `sn.Parameter`, torch tensor or texture
    name : str

    Raises
    ------
    CallError
        It holds no numbers, or too many to be read.

    Examples
    --------
    >>> pair_arrays([1, 2, 3], "x").value
    array([1, 2, 3])
    """
    read = adapter(thing, name)
    if read is not None:
        return read()
    if is_tensor(thing):
        return tensor_reading(thing, name)
    return Reading(_array(thing, name))


def _array(thing: Any, name: str) -> Array:
    refuse_masked(thing, name, "show x.filled(np.nan), or x.filled(0) for whole numbers")
    try:
        return np.asarray(thing)
    except (TypeError, ValueError) as error:
        raise no_array(name, error) from error
