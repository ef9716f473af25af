"""Notices a backward call whose seed was never filled: all its gradients are 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangnb.runtime.binding import Bound
from slangnb.runtime.saying import warn_once

if TYPE_CHECKING:
    from slangnb.runtime.session import Session


def is_zero_seed(session: Session, bound: Bound) -> bool:
    """Tell whether a backward call starts from zeros alone; warn of it, once for each function."""
    import slangpy as spy

    seed = bound.result.grad_in if isinstance(bound.result, spy.Tensor) else None
    if seed is None:
        return False
    numbers = seed.to_numpy()
    if numbers.any():
        return False
    name = bound.signature.name
    like = "..." if bound.signature.returns.kind == "struct" else f"np.ones({numbers.shape}, np.{numbers.dtype})"
    warn_once(
        session,
        ("zero seed", name),
        f"{name}.bwds: the seed, the gradient of _result, is 0 everywhere, so every gradient is 0; fill it before the "
        f"call, as in y.grad.copy_from_numpy({like}) for _result=y",
    )
    return True
