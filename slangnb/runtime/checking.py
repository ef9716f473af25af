"""All checks of a call's arguments, in order; made at the first call of a kind, and where what they look at changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slangnb.compiler.loading import Loaded
from slangnb.runtime.binding import Bound, bind
from slangnb.runtime.checks import check_call, check_extents
from slangnb.runtime.extents import check_lined_up, check_outputs
from slangnb.runtime.forms import check_form
from slangnb.runtime.gradient_checks import check_backward, check_generic_backward, check_seed_arrays
from slangnb.runtime.health import check_generic_sums
from slangnb.runtime.overlap import check_overlap
from slangnb.runtime.structs import check_structs
from slangnb.runtime.unset import check_no_uniforms

if TYPE_CHECKING:
    from slangnb.runtime.target import Step, Target


def check_arguments(
    target: Target,
    loaded: Loaded,
    chain: Iterable[Step],
    backward: bool,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Bound | None:
    """Bind and check the arguments; None where only SlangPy can bind them.

    Raises
    ------
    CallError, GradientError
        For the first argument that cannot be right.
    """
    info = target.info
    check_no_uniforms(target, kwargs)
    bound = bind(info, args, kwargs)
    mapped = any(method == "map" for method, _, _ in chain)
    if bound is None:
        named = {**dict(enumerate(args)), **kwargs}
        check_extents(named.values())
        if not mapped:
            check_lined_up(info.name, named.values())
        check_structs(info.name, loaded.module.layout, named)
        if backward:
            check_generic_backward(info, args, kwargs)
            check_generic_sums(target, info.name, named)
        return None
    check_form(bound, tuple(chain), args, kwargs, backward)
    if backward:
        check_seed_arrays(bound)
    check_call(bound, target.session.device, mapped)
    check_structs(info.name, loaded.module.layout, bound.named)
    if not mapped:
        check_outputs(bound)
        if not backward:
            check_overlap(bound)
    if backward:
        check_backward(bound)
    return bound
