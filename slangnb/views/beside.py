"""Brings gradients that are not in their tensors beside them, as `sn.grad` gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slangnb.errors import CallError
from slangnb.runtime.new_tensor import tensor
from slangnb.runtime.parameter import Parameter


def beside(entries: list[tuple[str, Any]], grads: Any) -> list[tuple[str, Any]]:
    """Give rows with their gradients.

    Parameters
    ----------
    entries : list of (str, object)
        Names and what is shown.
    grads : object or mapping
        The gradient of the only row, or those of some rows by name.

    Raises
    ------
    CallError
        If a name is no row, or a gradient has another shape than its value.
    """
    names = [name for name, _ in entries]
    if not isinstance(grads, Mapping):
        if len(entries) > 1:
            raise CallError("grads is one gradient, for several rows", remedy=f"write grads={{'{names[0]}': ...}}")
        grads = {names[0]: grads}
    unknown = [name for name in grads if name not in names]
    if unknown:
        raise CallError(f"grads has {unknown[0]!r}, but the rows are {', '.join(map(repr, names))}")
    return [(name, _joined(name, thing, grads[name]) if name in grads else thing) for name, thing in entries]


def _joined(name: str, thing: Any, gradient: Any) -> Any:
    """Give a tensor in the same memory that carries the gradient."""
    import slangpy as spy

    value = thing.value if isinstance(thing, Parameter) else thing
    value, gradient = (t if isinstance(t, spy.Tensor) else tensor(t, dtype="float") for t in (value, gradient))
    shapes = [(*t.shape.as_tuple(), t.dtype.full_name) for t in (value, gradient)]
    if shapes[0] != shapes[1]:
        said = [f"{shape[-1]} {shape[:-1]}" for shape in shapes]
        # A row that was given no name has this one.
        of = "" if name == "tensor" else f" of {name!r}"
        raise CallError(
            f"the gradient{of} is {said[1]}, its value {said[0]}",
            argument="grads",
            remedy=f"give a gradient that is {said[0]}, as sn.grad(f)(x) is for this x",
        )
    return value.with_grads(grad_out=gradient, zero=False)
