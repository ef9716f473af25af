"""Reads what can be shown into a `PairModel`: SlangPy tensors, numpy arrays, numbers and lists of numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from slangnb.errors import CallError
from slangnb.runtime.tensors import check_extent
from slangnb.views.measure import Array
from slangnb.views.model import PairModel, pair_model

if TYPE_CHECKING:
    import slangpy

LARGEST_READ = 256 << 20


def is_tensor(thing: object) -> TypeGuard[slangpy.Tensor]:
    """Whether something is a SlangPy tensor; does not import SlangPy."""
    module = sys.modules.get("slangpy")
    return module is not None and isinstance(thing, module.Tensor)


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
        It cannot be drawn: complex, not numeric, a tensor of structs, or a tensor over 256 MiB.

    Examples
    --------
    >>> read([1, 2, 3], "x").value.text
    '[1 2 3]'
    """
    if is_tensor(thing):
        return _read_tensor(thing, name)
    try:
        array = np.asarray(thing)
    except (TypeError, ValueError) as error:
        raise CallError(
            f"{name} is not an array of numbers: {error}",
            remedy="give a tensor, a numpy array, or a list with rows of equal length",
        ) from error
    if array.dtype.kind in "OSUV":
        raise CallError(
            f"{name} is a {type(thing).__name__}, which holds no numbers to show",
            remedy="give a tensor, a numpy array or a number; for several write show(a, b)",
        )
    return pair_model(array, name=name)


def rows(thing: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Unfold a dict of tensors, as structs are given, into named rows.

    Examples
    --------
    >>> list(rows({"a": 1, "b": {"c": 2}}, "p"))
    [('p.a', 1), ('p.b.c', 2)]
    """
    if not isinstance(thing, Mapping):
        yield name, thing
        return
    for key, part in thing.items():
        # "_type" names the Slang type in SlangPy's struct dicts; it is no field.
        if key != "_type":
            yield from rows(part, f"{name}.{key}" if name else str(key))


def _read_tensor(tensor: slangpy.Tensor, name: str) -> PairModel:
    shape = tuple(tensor.shape.as_tuple())
    dtype = tensor.dtype
    if type(dtype).__name__ == "StructType":
        raise CallError(
            f"{name} is a tensor of the struct {dtype.full_name}, which has no single picture",
            remedy="show its fields: keep them as a dict of tensors and write show({'a': a, 'b': b})",
        )
    check_extent(tensor, name)
    size = math.prod(shape) * dtype.buffer_layout.stride
    if size > LARGEST_READ:
        raise CallError(
            f"{name} is {size / 2**20:.0f} MiB; no more than {LARGEST_READ >> 20} MiB are read to draw one",
            remedy="show a part: show(x[:n]). It has no gradient, because SlangPy does not slice gradients",
        )
    value = tensor.to_numpy()
    gradient, remark = _gradient(tensor, shape)
    return pair_model(
        value,
        gradient,
        name=name,
        element=value.shape[len(shape) :],
        device=_short(tensor.device.info.adapter_name),
        remark=remark,
    )


def _gradient(tensor: slangpy.Tensor, shape: tuple[int, ...]) -> tuple[Array | None, str]:
    """Read the gradient; None with a reason where it is not that of these elements."""
    # `.grad` raises where there is none; these two are None.
    out, seed = tensor.grad_out, tensor.grad_in
    kept: slangpy.Tensor | None = out if out is not None else seed
    if kept is None:
        return None, ""
    theirs = tuple(kept.shape.as_tuple())
    if theirs != shape:
        return None, f"gradient not shown: it is that of the whole tensor {theirs}, SlangPy does not slice it"
    return kept.to_numpy(), "" if out is not None else "the gradient shown is the seed (grad_in)"


def _short(adapter: str) -> str:
    """Leave out versions and widths: "llvmpipe (LLVM 15.0.6, 256 bits)" is "llvmpipe"."""
    return adapter.split(" (", 1)[0].strip()
