"""Says once what is odd about a gradient: zero everywhere, or not finite somewhere, with the likely cause."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from slangnb.errors import GradientWarning
from slangnb.runtime.fused.launch import Prepared, Ran

if TYPE_CHECKING:
    from slangnb.runtime.session import Session

NOT_FINITE = (
    "likely NaN in an argument, a log, sqrt or division at 0, a pow of a negative number, or an overflow; also in the "
    "branch of `c ? a : b` that was not taken: write it as an if"
)
ALL_ZERO = "likely the function does not depend on it, or only through an integer, a no_diff value or a step"


def look(session: Session, function: str, prepared: Prepared, ran: Ran, level: int = 4) -> None:
    """Warn if a gradient is not finite, or is zero for all of several elements; once for each argument."""
    seeded = any(o.seeds for o in prepared.job.outputs)  # a seed may well be 0
    for row in prepared.sums.rows.all:
        if row.kind != "size":
            continue
        size = ran.sums[row.id]
        if not math.isfinite(size):
            what, why = "is not finite everywhere", NOT_FINITE
        elif prepared.count > 1 and size == 0 and not seeded:
            what, why = "is zero everywhere", ALL_ZERO
        else:
            continue
        leaf = next(f"{g.argument}{g.leaf.suffix}" for g in prepared.given if g.leaf.id == row.leaf)
        key = (prepared.job.modules, function, leaf, what)
        if key not in session.said:
            session.said.add(key)
            warnings.warn(f"{function}: the gradient of {leaf!r} {what}; {why}", GradientWarning, stacklevel=level)
