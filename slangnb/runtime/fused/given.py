"""The arguments of a call as a launch needs them, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from slangnb.compiler.reflection import TypeInfo
from slangnb.runtime.fused.job import Argument, Leaf, Output
from slangnb.runtime.fused.values import Held


@dataclass(frozen=True, slots=True)
class Given:
    """A leaf with what was read of its value.

    `route` says where the value is found in a call: a position or name, then keys of dicts; `argument` is the name of
    its parameter; `role` is ``"value"``, ``"tangent"`` or ``"seed"``.
    """

    leaf: Leaf
    held: Held
    route: tuple[int | str, ...]
    argument: str = ""
    role: str = "value"

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the value, with the dimensions of its type, and so that of its gradient."""
        return *self.held.shape, *self.leaf.type.shape


@dataclass(frozen=True, slots=True)
class GivenTensor:
    """A tensor that the function indexes itself; `route` as for `Given`.

    It has a gradient if `wanted`, and a person asked for it if `shown`, too.
    """

    name: str
    type: TypeInfo
    route: tuple[int | str, ...]
    wanted: bool
    shown: bool = True
    role: str = "value"


@dataclass(frozen=True, slots=True)
class Gathered:
    """All arguments of a call.

    Attributes
    ----------
    arguments : tuple of Argument
    outputs : tuple of Output
    given : tuple of Given
    tensors : tuple of GivenTensor
    shape : tuple of int
        Over which the function is mapped.
    """

    arguments: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    given: tuple[Given, ...]
    tensors: tuple[GivenTensor, ...]
    shape: tuple[int, ...]
