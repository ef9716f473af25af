"""A generic function with its types, or a method: transforms differentiate it, though SlangPy calls it its own way."""

from __future__ import annotations

from typing import Any

from slangnb.compiler.special import Special
from slangnb.errors import CallError
from slangnb.runtime.function import Function
from slangnb.runtime.target import Target


class SpecialFunction(Function):
    """``m["square<float>"]`` or ``m["Light::intensity"]``, for `sn.value_and_grad` and its kin.

    A method takes its struct as the argument ``self``, a dict or a tensor of structs.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile(
    ...     "struct Scale : IDifferentiable { float a; [Differentiable] float apply(float x) { return a * x * x; } }")
    >>> sn.grad(m["Scale::apply"])(self={"a": 2.0}, x=3.0)
    {'self': {'a': 9.0}, 'x': 12.0}
    """

    def __init__(self, target: Target, special: Special) -> None:
        super().__init__(target)
        self.special = special

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Refuse: SlangPy has a way of its own to call these."""
        name = self.info.name
        struct, _, method = name.rpartition("::")
        how = f"m.{struct}(...).{method}(...)" if struct else f"m.{name.partition('<')[0]}(...)"
        raise CallError(
            f"{name} is for sn.value_and_grad, sn.vjp, sn.jvp and sn.hvp", function=name, remedy=f"call it as {how}"
        )
