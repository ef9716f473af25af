"""Notices that a tensor was written after a result was made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np

from slangnb.errors import GradientError
from slangnb.runtime.nesting import values_in
from slangnb.runtime.parameter import Parameter

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.target import Maker, Target

_MOST = 4096


class _Made(NamedTuple):
    """What a tensor was made of, and by what."""

    parameters: tuple[tuple[ref[Parameter], int], ...]
    maker: Maker | None


class Writes:
    """Says when slangnb last wrote to a tensor's memory, and by what: results, outputs, gradients.

    Writes that go around slangnb, such as ``x.copy_from_numpy(...)``, are not seen: SlangPy's tensors do not tell.
    Buffers are known by identity alone, since holding them would keep their memory. One that SlangPy makes in the place
    of a dead one seems as old as that: a backward pass with such a result may be refused.
    """

    def __init__(self) -> None:
        self._times: dict[int, int] = {}
        self._made: dict[int, _Made] = {}
        self.now = 0

    def of(self, t: slangpy.Tensor) -> int:
        """Give the time of the last write; 0 if none was seen."""
        return self._times.get(id(t.storage), 0)

    def wrote(self, t: slangpy.Tensor, values: Iterable[Any] = (), maker: Maker | None = None) -> None:
        """Take note of a write, of the Parameters among the values that it was made of, and of the function."""
        self.now += 1
        place = id(t.storage)
        self._times[place] = self.now
        self._made[place] = _Made(tuple([(ref(p), p.version) for p in _parameters_in(values)]), maker)
        if len(self._times) > _MOST:
            newest = sorted(self._times.items(), key=lambda item: item[1])[_MOST // 2 :]
            self._times = dict(newest)
            self._made = {k: v for k, v in self._made.items() if k in self._times}

    def forget(self, t: slangpy.Tensor) -> None:
        """Take note that a tensor is new: its buffer may have the identity of a dead one."""
        self._times.pop(id(t.storage), None)
        self._made.pop(id(t.storage), None)

    def check(self, result: slangpy.Tensor, inputs: Iterable[Any], target: Target) -> None:
        """Refuse a backward pass for a result that is older than what it was made of, or than its function.

        Raises
        ------
        GradientError
        """
        function, made, inputs = target.info.name, self.of(result), tuple(inputs)
        written = made and any(self.of(x) > made for x in tensors_in(inputs))
        given = {id(p) for p in _parameters_in(inputs)}
        parameters, maker = self._made.get(id(result.storage), _Made((), None))
        known = [(p(), version) for p, version in parameters]
        changed = any(p is not None and id(p) in given and p.version != version for p, version in known)
        if written or changed:
            raise GradientError(
                f"{function}.bwds: an argument was written after _result was computed, so that the gradient would "
                "belong to other values",
                function=function,
                argument="_result",
                remedy="compute the result again; if _result only carries the seed, pass a new tensor for it",
            )
        if maker is not None and maker.compiled_again(target.maker):
            raise compiled_again(function)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of some arguments at one time."""

    values: tuple[Any, ...]
    time: int
    versions: tuple[int, ...]

    @classmethod
    def of(cls, writes: Writes, values: tuple[Any, ...]) -> Snapshot:
        """Remember the arguments, also those inside dicts."""
        return cls(values, writes.now, tuple(p.version for p in _parameters_in(values)))

    def check(self, writes: Writes, function: str) -> None:
        """Refuse to go on if one of them changed.

        Raises
        ------
        GradientError
        """
        changed = any(writes.of(t) > self.time for t in tensors_in(self.values))
        if changed or self.versions != tuple(p.version for p in _parameters_in(self.values)):
            raise GradientError(
                f"{function}: an argument changed after this result was computed, so that the gradient would belong to "
                "other values",
                function=function,
                remedy="compute the result again, then pull back",
            )


def compiled_again(function: str) -> GradientError:
    """Give the error for a backward pass of a function that was compiled again since."""
    return GradientError(
        f"{function} was compiled again after this result was computed",
        function=function,
        remedy="compute the result again, then its gradient",
    )


def copied(value: Any) -> Any:
    """Copy all that can change in place, so that a backward pass sees the values of the forward pass.

    Tensors and Parameters stay themselves: `Snapshot` notices their changes.

    Examples
    --------
    >>> rows = [[1.0, 2.0], [3.0, 4.0]]
    >>> kept = copied({"w": rows})
    >>> rows[0][1] = 100.0
    >>> kept
    {'w': [[1.0, 2.0], [3.0, 4.0]]}
    """
    if isinstance(value, dict):
        return {k: copied(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        inner = [copied(v) for v in value]
        return inner if isinstance(value, list) else tuple(inner)
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value).__module__ != "slangpy.math" or not hasattr(value, "__getitem__"):
        return value
    return type(value)(value) if hasattr(value, "to_numpy") else type(value)(*value)  # a matrix, or a vector


def tensors_in(values: Iterable[Any]) -> Iterator[slangpy.Tensor]:
    """Give the tensors among values, also inside dicts."""
    import slangpy as spy

    return (v for v in values_in(values) if isinstance(v, spy.Tensor))


def _parameters_in(values: Iterable[Any]) -> Iterator[Parameter]:
    return (v for v in values_in(values) if isinstance(v, Parameter))
