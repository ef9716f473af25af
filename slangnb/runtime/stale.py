"""Notices that a tensor changed after a result was made of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slangnb.errors import GradientError
from slangnb.runtime.parameter import Parameter

if TYPE_CHECKING:
    import slangpy

#: References to a buffer that nobody but `Versions` holds: its own, and those of the question.
_OWN_REFERENCES = 3
_MOST = 256


class Versions:
    """Counts the writes to tensors that slangnb makes: results, outputs, gradients.

    Writes that go around slangnb, such as ``x.copy_from_numpy(...)``, are not seen: SlangPy's tensors do not count.
    Buffers have no weak references, so an entry holds its buffer until nobody else does.
    """

    def __init__(self) -> None:
        self._counts: dict[int, tuple[slangpy.Buffer, int]] = {}

    def of(self, t: slangpy.Tensor) -> int:
        """Give the number of writes to a tensor's memory so far."""
        return self._counts.get(id(t.storage), (None, 0))[1]

    def wrote(self, t: slangpy.Tensor) -> None:
        """Count a write."""
        storage = t.storage
        self._counts[id(storage)] = storage, self.of(t) + 1
        if len(self._counts) > _MOST:
            self._counts = {k: v for k, v in self._counts.items() if sys.getrefcount(v[0]) > _OWN_REFERENCES}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The versions of some values at one time."""

    taken: tuple[tuple[Any, int], ...]

    @classmethod
    def of(cls, versions: Versions, values: Iterable[Any]) -> Snapshot:
        """Take the versions of all tensors and Parameters among values, also inside dicts."""
        return cls(tuple(_versions(versions, values)))

    def check(self, versions: Versions, function: str) -> None:
        """Refuse to go on if one of them changed.

        Raises
        ------
        GradientError
        """
        for value, version in self.taken:
            now = value.version if isinstance(value, Parameter) else versions.of(value)
            if now != version:
                raise GradientError(
                    f"{function}: an argument changed after this result was computed, so that the gradient would "
                    "belong to other values",
                    function=function,
                    remedy="compute the result again, then pull back",
                )


def _versions(versions: Versions, values: Iterable[Any]) -> Iterable[tuple[Any, int]]:
    import slangpy as spy

    for value in values:
        if isinstance(value, dict):
            yield from _versions(versions, value.values())
        elif isinstance(value, Parameter):
            yield value, value.version
        elif isinstance(value, spy.Tensor):
            yield value, versions.of(value)
