"""Says once what is odd about a gradient: zero everywhere, or not finite somewhere, with the likely cause."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from slangnb.errors import GradientWarning
from slangnb.runtime.binding import Bound
from slangnb.runtime.checks import leaves
from slangnb.runtime.fused.launch import Prepared, Ran
from slangnb.runtime.seeds import is_zero_seed

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session

NOT_FINITE = (
    "likely NaN in an argument, a log, sqrt or division at 0, a pow of a negative number, or an overflow; also in the "
    "branch of `c ? a : b` that was not taken: write it as an if"
)
INACCURATE = "it may be off by 1e-3 and differ from run to run; use sn.value_and_grad(f)(...)"
#: Terms that float atomics add without an error worth a word: measured 4e-4 at 2^20.
MOST_TERMS = 1 << 14
ALL_ZERO = "likely the function does not depend on it, or only through an integer, a no_diff value or a step"


def look(session: Session, function: str, prepared: Prepared, ran: Ran, level: int = 4) -> None:
    """Warn if a gradient is not finite, or is zero for all of several elements; once for each argument."""
    look_at_sizes(session, function, prepared, {row.leaf: ran.sums[row.id] for row in prepared.sizes}, level + 1)


def look_at_sizes(
    session: Session, function: str, prepared: Prepared, sizes: Mapping[str, float], level: int = 4
) -> None:
    """Warn by the sums of the magnitudes of gradients, by leaf."""
    for of, size in sizes.items():
        if 0 < size < math.inf:
            continue
        seeded = any(o.seeds for o in prepared.job.outputs)  # a seed may well be 0
        if not math.isfinite(size):
            what, why = "is not finite everywhere", NOT_FINITE
        elif prepared.count > 1 and size == 0 and not seeded:
            what, why = "is zero everywhere", ALL_ZERO
        else:
            continue
        leaf = next(f"{g.argument}{g.leaf.suffix}" for g in prepared.given if g.leaf.id == of)
        _say(session, prepared.job.modules, function, leaf, what, why, level)


#: Gradients of more numbers are not read back for a look.
MOST_READ = 1 << 22


def look_at_gradients(session: Session, bound: Bound, level: int = 5) -> None:
    """Warn of what a backward call of SlangPy left in the gradients of its arguments: NaN, or zeros alone.

    Also where its float atomics summed more terms into one number than float can count.
    """
    import slangpy as spy

    name = bound.signature.name
    terms = bound.result.element_count if isinstance(bound.result, spy.Tensor) else 1
    if terms <= MOST_READ and is_zero_seed(session, bound):
        return
    for slot in bound.slots:
        p = slot.parameter
        if p.io != "in" or p.no_diff or p.type.access == "write":
            continue
        for leaf, _, value in leaves(p.name, p.type, slot.value):
            gradient = value.grad_out if isinstance(value, spy.Tensor) else None
            if gradient is None:
                continue
            if gradient.element_count == 1 and terms > MOST_TERMS:
                _say(session, (), name, leaf, "is summed by float atomics", INACCURATE, level)
            if gradient.element_count > MOST_READ:
                continue
            numbers = _numbers(gradient)
            if not np.isfinite(numbers).all():
                _say(session, (), name, leaf, "is not finite everywhere", NOT_FINITE, level)
            elif gradient.element_count > 1 and not numbers.any():
                _say(session, (), name, leaf, "is zero everywhere", ALL_ZERO, level)


def _numbers(t: slangpy.Tensor) -> np.ndarray:
    found = t.to_numpy()
    return found if found.dtype.kind == "f" else found.view(np.float32)  # structs come as bytes


def _say(session: Session, modules: tuple[str, ...], function: str, leaf: str, what: str, why: str, level: int) -> None:
    key = (modules, function, leaf, what)
    if key not in session.said:
        session.said.add(key)
        warnings.warn(f"{function}: the gradient of {leaf!r} {what}; {why}", GradientWarning, stacklevel=level + 1)
