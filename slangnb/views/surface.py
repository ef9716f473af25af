"""The sum or mean of a loss over all samples at points of a plane through its parameters, and its slopes there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangnb.autodiff.transforms import grad
from slangnb.compiler.reflection import Signature
from slangnb.runtime.function import Function
from slangnb.runtime.tensors import SCALARS
from slangnb.views.measure import Floats

#: Values that one call computes.
MOST_VALUES = 1 << 22


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
