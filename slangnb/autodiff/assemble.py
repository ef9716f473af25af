"""Gives gradients and results the kind of what came in: number for number, numpy for numpy, tensor for tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.runtime.fused.gather import Given
from slangnb.runtime.fused.launch import Prepared, Ran
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    import slangpy


def gradients(prepared: Prepared, ran: Ran) -> dict[str, Any]:
    """Give the wanted gradients by argument; those of a struct's fields as a dict."""
    found: dict[str, Any] = {}
    for g in prepared.given:
        if g.role != "value" or not g.leaf.wanted:
            continue
        place, inside = g.argument, found
        for key in map(str, g.route[1:]):
            inside = inside.setdefault(place, {})
            place = key
        inside[place] = _gradient(prepared, g, ran)
    found.update({t.name: ran.grads[t.name] for t in prepared.tensors if t.wanted})
    order = [a.name for a in prepared.job.arguments]
    return {name: found[name] for name in sorted(found, key=order.index)}


def _gradient(prepared: Prepared, g: Given, ran: Ran) -> Any:
    leaf, held = g.leaf, g.held
    if held.kind == "tensor":
        return ran.grads[leaf.id]
    dtype = SCALARS[leaf.type.scalar]
    full = (*held.shape, *leaf.type.shape)
    if leaf.shared:
        sums = [ran.sums[r.id] for r in prepared.sums.rows.all if r.leaf == leaf.id and r.kind == "gradient"]
        with np.errstate(over="ignore"):  # a sum beyond the type's largest number is infinite, as it should be
            found = np.array(sums, np.float64).astype(dtype).reshape(full)
    else:
        found = ran.grads[leaf.id].to_numpy().view(dtype)[: math.prod(full)].reshape(full)
    return found if held.kind == "numpy" or full else found.item()


def results(prepared: Prepared, made: dict[str, Any]) -> Any:
    """Give the values of all outputs: tensors if a tensor came in, else numpy, or a number for a single call.

    One output is given itself, several as a dict by name; what the function returns is called ``"result"``.
    """
    tensors = any(g.held.kind == "tensor" for g in prepared.given if g.role == "value") or prepared.tensors
    if not tensors:
        made = {name: _host(prepared, t) for name, t in made.items()}
    return next(iter(made.values())) if len(made) == 1 else made


def _host(prepared: Prepared, t: slangpy.Tensor) -> Any:
    if t.dtype.full_name not in SCALARS and not t.dtype.shape.as_tuple():
        return t  # structs have no numpy type
    array = t.to_numpy()
    array = array.reshape((*prepared.shape, *array.shape[len(t.shape.as_tuple()) :]))
    return array if array.ndim else array.item()
