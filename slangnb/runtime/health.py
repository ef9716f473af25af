"""Says once what is odd about a gradient: zero everywhere, or not finite somewhere, with the likely cause."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import innermost_scalar
from slangnb.errors import GradientError
from slangnb.runtime.binding import Bound
from slangnb.runtime.extents import call_shape, outer_shape
from slangnb.runtime.fused.launch import Prepared, Ran
from slangnb.runtime.saying import warn_once
from slangnb.runtime.seeds import is_zero_seed
from slangnb.runtime.stale import tensors_in
from slangnb.runtime.takers import takers

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.target import Target

NOT_FINITE = (
    "likely NaN in an argument, a log, sqrt or division at 0, a pow of a negative number, or an overflow; also in the "
    "branch of `c ? a : b` that was not taken: write it as an if"
)
NO_VALUE = (
    "likely NaN in an argument, an overflow, or a log or sqrt of a negative number, whose derivatives are numbers in "
    "Slang, and mean nothing"
)
#: Terms that float atomics add without an error worth a word: measured 4e-4 at 2^20.
MOST_TERMS = 1 << 14
#: Ones that a float counts; it stays there.
SATURATES = 1 << 24
INACCURATE = "it may be off by 1e-3 and differ from run to run"
SATURATED = "float counts no further than 2^24, so that it may be far too small"
RETURN = (
    "let the function return its value and use sn.value_and_grad(f)(...), which sums right, or make several calls over "
    "fewer elements"
)
ALL_ZERO = (
    "likely the function does not depend on it, or only through an integer, a no_diff value or a step, or a factor is 0"
)


def look(target: Target, function: str, prepared: Prepared, ran: Ran) -> None:
    """Warn if a gradient is not finite, or is zero for all of several elements; once for each argument."""
    sizes = {row.leaf: ran.sums[row.id] for row in prepared.sizes}
    look_at_sizes(target, function, prepared, sizes)
    values = [ran.sums[row.id] for row in prepared.values]
    if all(map(math.isfinite, sizes.values())) and not all(map(math.isfinite, values)):
        warn_once(target, f"{function}: its value is not finite; {NO_VALUE}")
    prepared.looks += 1
    if prepared.looks & (prepared.looks - 1):
        return  # to read a tensor costs a wait: calls 1, 2, 4, 8 and so on show what stays wrong
    seeded = any(o.seeds for o in prepared.job.outputs)
    for out in prepared.indexed:
        name = out.given.name
        may_be_zero = seeded or name in prepared.alive
        if _look_at_numbers(target, function, name, ran.grads[name], prepared.count, may_be_zero):
            prepared.alive.add(name)


def look_at_sizes(target: Target, function: str, prepared: Prepared, sizes: Mapping[str, float]) -> None:
    """Warn by the sums of the magnitudes of gradients, by leaf."""
    for of, size in sizes.items():
        if 0 < size < math.inf:
            prepared.alive.add(of)
            continue
        seeded = any(o.seeds for o in prepared.job.outputs)  # a seed may well be 0
        if not math.isfinite(size):
            what, why = "is not finite everywhere", NOT_FINITE
        elif prepared.count > 1 and size == 0 and not seeded and of not in prepared.alive:
            what, why = "is zero everywhere", ALL_ZERO
        else:
            continue
        leaf = next(f"{g.argument}{g.leaf.suffix}" for g in prepared.given if g.leaf.id == of)
        _say(target, function, leaf, what, why)


#: Gradients of more numbers are not read back for a look.
MOST_READ = 1 << 22


def check_sums(target: Target, bound: Bound) -> None:
    """Warn of, or refuse, a backward call of SlangPy whose float atomics sum too many terms into one number.

    A tensor that the function indexes itself may be read evenly or not: for these it is a warning.

    Raises
    ------
    GradientError
        If an argument is shared by so many elements that its gradient would stop to grow.
    """
    name, count = bound.signature.name, math.prod(call_shape(bound))
    for place in takers(bound, parameters=False):
        leaf, t = place.name, place.type
        indexed = t.kind == "tensor"
        own = place.value.element_count if indexed else math.prod(outer_shape(t, place.value))
        terms = count // max(1, own)
        if terms <= MOST_TERMS or t.scalar == "double":
            continue
        if terms >= SATURATES and not indexed:
            raise GradientError(
                f"{name}.bwds: the gradient of {leaf!r} is a sum over {terms} elements by float atomics, and float "
                "counts no further than 2^24",
                function=name,
                argument=leaf,
                remedy=RETURN,
            )
        why = SATURATED if count >= SATURATES else INACCURATE
        _say(target, name, leaf, "is summed by float atomics", f"{why}; {RETURN}")


def check_generic_sums(target: Target, function: str, named: Mapping[Any, Any]) -> None:
    """Warn as `check_sums` does, where only SlangPy knows the parameters (overloaded and generic functions)."""
    result = named["_result"]
    for place, value in named.items():
        for t in tensors_in([value]):
            if t is result or t.grad_out is None or innermost_scalar(t.dtype) == "double":
                continue
            if result.element_count // t.element_count > MOST_TERMS:
                why = SATURATED if result.element_count >= SATURATES else INACCURATE
                _say(target, function, str(place), "is summed by float atomics", f"{why}; {RETURN}")


def look_at_gradients(target: Target, bound: Bound) -> None:
    """Warn of what a backward call of SlangPy left in the gradients of its arguments: NaN, or zeros alone."""
    import slangpy as spy

    name = bound.signature.name
    terms = bound.result.element_count if isinstance(bound.result, spy.Tensor) else 1
    if terms <= MOST_READ and is_zero_seed(target, bound):
        return
    count = math.prod(call_shape(bound))
    for place in takers(bound, parameters=False):
        _look_at_numbers(target, name, place.name, place.value.grad_out, count, may_be_zero=False)


def _look_at_numbers(
    target: Target, function: str, leaf: str, gradient: slangpy.Tensor, count: int, may_be_zero: bool
) -> bool:
    """Warn by the numbers themselves, of a call over `count` elements; tell whether some are finite and not zero."""
    if gradient.element_count > MOST_READ:
        return False
    numbers = _numbers(gradient)
    if not np.isfinite(numbers).all():
        _say(target, function, leaf, "is not finite everywhere", NOT_FINITE)
        return False
    found = bool(numbers.any())
    if max(count, gradient.element_count) > 1 and not may_be_zero and not found:
        cancels = ", or the terms that are summed cancel" if count > gradient.element_count else ""
        _say(target, function, leaf, "is zero everywhere", ALL_ZERO + cancels)
    return found


def _numbers(t: slangpy.Tensor) -> np.ndarray:
    found = t.to_numpy()
    return found if found.dtype.kind == "f" else found.view(np.float32)  # structs come as bytes


def _say(target: Target, function: str, leaf: str, what: str, why: str) -> None:
    warn_once(target, f"{function}: the gradient of {leaf!r} {what}; {why}")
