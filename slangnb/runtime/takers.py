"""Which values of a backward call receive a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slangnb.compiler.reflection import Parameter, TypeInfo
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.checks import leaves
from slangnb.runtime.parameter import Parameter as Shared


@dataclass(frozen=True, slots=True)
class Place:
    """A value of a call: an argument, or a field of one that is a dict.

    Attributes
    ----------
    slot : Slot
        The argument.
    name : str
        What people call it, such as ``"p.color"``.
    type : TypeInfo
        Of the parameter, or of its field.
    value : object
    """

    slot: Slot
    name: str
    type: TypeInfo
    value: Any


def places(bound: Bound) -> Iterator[Place]:
    """Give all values of a call."""
    for slot in bound.slots:
        for name, t, value in leaves(slot.parameter.name, slot.parameter.type, slot.value):
            yield Place(slot, name, t, value)


def receives(p: Parameter, t: TypeInfo) -> bool:
    """Tell whether a value of this type, of this parameter, may receive a gradient; outputs bring theirs.

    Examples
    --------
    >>> t = TypeInfo("WDiffTensor<float,1>", "tensor", "float", access="write", carries_gradient=True)
    >>> x = TypeInfo("float", "scalar", "float", (), True)
    >>> receives(Parameter("x", x), x), receives(Parameter("x", x, "out"), x), receives(Parameter("t", t), t)
    (True, False, False)
    """
    return p.io == "in" and not p.no_diff and t.access != "write"


def takers(bound: Bound, *, parameters: bool) -> Iterator[Place]:
    """Give the tensors that receive a gradient in a backward call; with `parameters` also Parameters and diffPairs."""
    import slangpy as spy

    for place in places(bound):
        if not receives(place.slot.parameter, place.type):
            continue
        if isinstance(place.value, spy.Tensor):
            if place.value.grad_out is not None:
                yield place
        elif parameters and (isinstance(place.value, Shared) or type(place.value).__name__ == "DiffPair"):
            yield place
