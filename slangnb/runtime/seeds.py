"""Notices a backward call whose seed was never filled, or with the wrong type: all its gradients are 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangnb.runtime.binding import Bound
from slangnb.runtime.saying import warn_once

if TYPE_CHECKING:
    from slangnb.runtime.target import Target


def is_zero_seed(target: Target, bound: Bound) -> bool:
    """Tell whether a backward call starts from zeros alone; warn of it, once for each function."""
    import slangpy as spy

    seed = bound.result.grad_in if isinstance(bound.result, spy.Tensor) else None
    if seed is None:
        return False
    numbers = seed.to_numpy()
    least = np.finfo(numbers.dtype).tiny if numbers.dtype.kind == "f" else 1
    if (np.abs(numbers) >= least).any():
        return False
    name = bound.signature.name
    # SlangPy copies bytes: whole numbers become the smallest of floats.
    what = "was filled from whole numbers, which are next to 0 as floats" if numbers.any() else "is 0 everywhere"
    like = "..." if bound.signature.returns.kind == "struct" else f"np.ones({numbers.shape}, np.{numbers.dtype})"
    warn_once(
        target,
        f"{name}.bwds: the seed, the gradient of _result, {what}, so every gradient is 0; fill it before the "
        f"call, as in y.grad.copy_from_numpy({like}) for _result=y",
        f"zero seed of {name}",
    )
    return True
