"""Gives gradients and results the kind of what came in: number for number, numpy for numpy, tensor for tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.runtime.fused.given import Given
from slangnb.runtime.fused.launch import Prepared, Ran
from slangnb.runtime.nesting import nested
from slangnb.runtime.struct_values import bools_of
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    import slangpy


class Assembler:
    """Puts the gradients of one kind of call together; made once, since it is used at every call.

    Gradients come by argument, those of a struct's fields as a dict. Sums that Python reads are multiplied by `factor`
    here, in double.
    """

    def __init__(self, prepared: Prepared, factor: float = 1.0) -> None:
        order = [a.name for a in prepared.job.arguments]
        parts: list[tuple[tuple[str, ...], Callable[[Ran], Any]]] = []
        for out in prepared.gradients:
            g = out.given
            parts.append(((g.argument, *map(str, g.route[1:])), _reader(prepared, g, factor)))
        parts += [((t.given.name,), itemgetter_of(t.given.name)) for t in prepared.indexed if t.given.shown]
        parts.sort(key=lambda part: order.index(part[0][0]))
        self._paths, self._readers = [path for path, _ in parts], [read for _, read in parts]

    def __call__(self, ran: Ran) -> dict[str, Any]:
        """Give the gradients of a launch."""
        return nested(self._paths, [read(ran) for read in self._readers])


def itemgetter_of(name: str) -> Callable[[Ran], Any]:
    """Give the gradient of a name as it is: a tensor."""
    return lambda ran: ran.grads[name]


def _reader(prepared: Prepared, g: Given, factor: float) -> Callable[[Ran], Any]:
    """Give the function that reads the gradient of a leaf, as the kind of value that came in."""
    leaf, held = g.leaf, g.held
    if held.kind == "tensor":
        return itemgetter_of(leaf.id)
    full = g.shape
    as_number = held.kind != "numpy" and not full
    rows = [r.id for r in prepared.sums.rows.gradients_of(leaf.id)]
    dtype = SCALARS[leaf.type.scalar]
    if leaf.shared and as_number:
        round_to = _rounding(leaf.type.scalar)
        return lambda ran: round_to(ran.sums[rows[0]] * factor)

    def read(ran: Ran) -> Any:
        if leaf.shared:
            with np.errstate(over="ignore"):  # a sum beyond the type's largest number is infinite, as it should be
                found = np.array([ran.sums[r] * factor for r in rows]).astype(dtype).reshape(full)
        else:
            found = ran.grads[leaf.id]
            if found.shape != full or found.dtype != dtype:  # the bytes of a buffer
                found = found.view(dtype)[: math.prod(full)].reshape(full)
        return found.item() if as_number else found

    return read


def _rounding(scalar: str) -> Callable[[float], float]:
    """Give the function that rounds a sum to the type of its argument."""
    if scalar == "double":
        return float
    kind = np.dtype(SCALARS[scalar]).type
    largest = float(np.finfo(kind).max)

    def rounded(x: float) -> float:
        return float(kind(x)) if -largest <= x <= largest else x * math.inf  # without numpy's warning; NaN stays NaN

    return rounded


def results(prepared: Prepared, made: dict[str, Any]) -> Any:
    """Give the values of all outputs: tensors if a tensor came in, else numpy, or a number for a single call.

    One output is given itself, several as a dict by name; what the function returns is called ``"result"``.
    """
    tensors = any(g.held.kind == "tensor" for g in prepared.given if g.role == "value") or prepared.tensors
    if not tensors:
        made = {name: host_array(prepared, t) for name, t in made.items()}
    return next(iter(made.values())) if len(prepared.job.outputs) == 1 else made


def host_array(prepared: Prepared, t: slangpy.Tensor | np.ndarray) -> Any:
    """Give an output as a numpy array of the call's shape, or a number for a single call; structs as they are."""
    if isinstance(t, np.ndarray):
        return t if t.ndim else t.item()
    name = t.dtype.full_name
    if name not in (*SCALARS, "bool") and not t.dtype.shape.as_tuple():
        return t  # structs have no numpy type
    array = t.to_numpy() if name != "bool" else bools_of(t)
    array = array.reshape((*prepared.shape, *array.shape[len(t.shape.as_tuple()) :]))
    return array if array.ndim else array.item()
