"""The sum or mean of a loss over all samples at points of a plane through its parameters, and its slopes there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangnb.autodiff.transforms import grad, value_and_grad
from slangnb.compiler.reflection import Signature
from slangnb.runtime.function import Function
from slangnb.runtime.saying import unsaid
from slangnb.runtime.tensors import SCALARS
from slangnb.views.measure import Floats

#: Values that one call computes.
MOST_VALUES = 1 << 22
#: From so many samples on a launch for each point is faster than to read the loss of each sample.
MANY_SAMPLES = 1 << 14


@dataclass(frozen=True, eq=False)
class Surface:
    """A loss along two of its parameters; the rest is given.

    Attributes
    ----------
    function : Function
    signature : Signature
    names : tuple of str
    given : mapping of str to values
        All other arguments.
    samples : tuple of int
        Shape of a call with numbers for both parameters.
    mean : bool
        Whether the sum is divided by the number of samples.
    """

    function: Function
    signature: Signature
    names: tuple[str, str]
    given: Mapping[str, Any]
    samples: tuple[int, ...]
    mean: bool

    @property
    def count(self) -> int:
        """The number of samples."""
        return math.prod(self.samples)

    def measure(self, points: Floats) -> tuple[Floats, Floats | None]:
        """Give the loss at points (n, 2), and both partial derivatives (n, 2) if there are any."""
        if self.why_flat():
            return self.values(points), None
        many = self.count >= MANY_SAMPLES
        values, slopes = self._one_by_one(points) if many else (self.values(points), self.slopes(points))
        # Slang's own derivatives are numbers even where the function is none, as left of 0 for sqrt.
        return values, np.where(np.isfinite(values)[:, None], slopes, np.nan)

    def values(self, points: Floats) -> Floats:
        """Give the loss at points (n, 2), summed in float64."""
        found = [np.asarray(self.function(**part, _result="numpy")) for part in self._calls(points)]
        sums = [np.sum(f.reshape(len(f), -1), axis=1, dtype=np.float64) for f in found]
        return np.concatenate(sums) / self._divisor

    def slopes(self, points: Floats) -> Floats:
        """Give both partial derivatives at points (n, 2)."""
        slope = grad(self.function, wrt=self.names)
        found = [slope(**part) for part in self._calls(points)]
        columns = [np.concatenate([np.asarray(f[name]).reshape(-1) for f in found]) for name in self.names]
        return np.stack(columns, axis=1).astype(np.float64) / self._divisor

    def _one_by_one(self, points: Floats) -> tuple[Floats, Floats]:
        """Let the device sum over the samples, in a launch for each point: of many samples too much would be read."""
        both = value_and_grad(self.function, wrt=self.names)
        found = np.empty((len(points), 3))
        # At one point a gradient may well be zero for all samples, as it is at the lowest one.
        with unsaid(self.function.session):
            for row, point in zip(found, points.tolist(), strict=True):
                value, slopes = both(**self.given, **dict(zip(self.names, point, strict=True)))
                row[:] = value, *(slopes[name] for name in self.names)
        return found[:, 0] / self._divisor, found[:, 1:] / self._divisor

    def why_flat(self) -> str:
        """Say why there are no derivatives; empty if there are."""
        if not self.signature.differentiable:
            return f"{self.signature.name} is not differentiable"
        found = [p for p in self.signature.parameters if p.name in self.names and not p.derivable]
        return f"{found[0].name} {found[0].why_not}" if found else ""

    @property
    def _divisor(self) -> int:
        return self.count if self.mean else 1

    def _calls(self, points: Floats) -> list[dict[str, Any]]:
        """Divide the points into calls of few enough values, and give the arguments of each."""
        types = {p.name: SCALARS[p.type.scalar] for p in self.signature.parameters if p.name in self.names}
        parts = np.array_split(points, math.ceil(len(points) / max(1, MOST_VALUES // self.count)))
        ones = (1,) * len(self.samples)
        return [
            {**self.given, **{n: p[:, i].astype(types[n]).reshape(-1, *ones) for i, n in enumerate(self.names)}}
            for p in parts
        ]
