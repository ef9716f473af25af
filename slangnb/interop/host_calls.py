"""A call with numpy arrays and numbers: its results as numpy, and later the gradients of its arguments.

This is what a library with a differentiation of its own needs; it knows nothing of any library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.autodiff.assemble import Assembler, host_array
from slangnb.autodiff.callee import Callee, constants_text, find
from slangnb.autodiff.fallback import value_and_grad_by_slangpy
from slangnb.autodiff.transforms import make_call, split_seed
from slangnb.compiler.reflection import PLAIN_KINDS, FunctionInfo, Parameter, TypeInfo
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import bind
from slangnb.runtime.checks import check_call, leaves
from slangnb.runtime.function import Function
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Call, Wish
from slangnb.runtime.fused.job import outputs_of
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.health import look
from slangnb.runtime.nesting import map_leaves
from slangnb.runtime.new_tensor import tensor
from slangnb.runtime.special import SpecialFunction
from slangnb.runtime.stale import Snapshot, compiled_again
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    from slangnb.compiler.loading import Loaded

#: Changes to a call that do not change what it computes.
HARMLESS = frozenset({"constants", "return_type", "call_group_shape"})


@dataclass
class HostCall:
    """A call of a function; run it forward, then, if need be, backward.

    Attributes
    ----------
    function : Function
    named : dict
        Arguments by name: numbers, numpy arrays, SlangPy tensors, dicts of these.
    on_device : bool
        Give results as SlangPy tensors where they are some.
    """

    function: Function
    named: dict[str, Any]
    on_device: bool = False
    _loaded: Loaded | None = None
    _snapshot: Snapshot | None = None

    def forward(self) -> dict[str, Any]:
        """Give all results by name; what the function returns is called ``"result"``.

        Raises
        ------
        CallError, GradientError, CompileError
            For arguments that do not fit.
        """
        session = self.function.session
        self._loaded = self.function.target.require()
        callee = self.callee()
        empty = _empty(callee, self.named)
        if empty is not None:
            return empty
        if callee is not None:
            check_call(callee.bound, session.device, False)
            call = Call.of(self.function.target, callee.bound, callee.call, callee.prelude)
            try:
                prepared = call.prepare(Wish("forward", stores=True))
            except NotFusedError:
                return self._plainly()
            made = call.run(prepared, read=False).outputs
            session.wait()
            types = {o.id: o.type for o in prepared.job.outputs}
            if self.on_device and prepared.shape and all(t.kind in PLAIN_KINDS for t in types.values()):
                return made
            return {n: _numeric(callee.name, host_array(prepared, t), types[n].scalar) for n, t in made.items()}
        return self._plainly()

    def watch(self, values: Mapping[str, Any]) -> None:
        """Refuse a backward pass once slangnb writes to a SlangPy tensor or a Parameter among these values."""
        self._snapshot = Snapshot.of(self.function.session.writes, tuple(values.values()))

    def gradients(self, named: Mapping[str, Any], wrt: tuple[str, ...], seeds: Mapping[str, Any]) -> dict[str, Any]:
        """Give the gradients of some arguments by name, for gradients of the results.

        Parameters
        ----------
        named : mapping
            The arguments again.
        wrt : tuple of str
            Whose gradients are wanted.
        seeds : mapping
            By the name of the result: an array of its shape, a number, or None for a result that does not count.

        Raises
        ------
        GradientError
            If the function is not differentiable, or something changed since the forward pass.
        """
        function, session = self.function, self.function.session
        session.enter()
        if self._snapshot is not None:
            self._snapshot.check(session.writes, function.info.name)
        if function.target.require() is not self._loaded:
            raise compiled_again(function.info.name)
        callee = find(function, (), named, "backward()")
        if any(p.writes_by_index for p in callee.bound.signature.parameters):
            reason = "it writes to a tensor by index"
            return value_and_grad_by_slangpy(function, callee, wrt, "sum", _weights(seeds), reason)[1]
        seed = next(iter(seeds.values())) if len(seeds) == 1 else dict(seeds)
        factor, split = split_seed(seed, callee)
        call = make_call(function, callee, seeds=split)
        try:
            prepared = call.prepare(Wish("reverse", wrt))
        except NotFusedError as reason:
            return value_and_grad_by_slangpy(function, callee, wrt, "sum", _weights(seeds), str(reason))[1]
        audit(call)
        ran = call.run(prepared, factor)
        look(function.target, callee.name, prepared, ran)
        return Assembler(prepared, factor)(ran)

    def callee(self) -> Callee | None:
        """Find what our own kernel would call; None if only SlangPy can make the call."""
        function = self.function
        if any(method not in HARMLESS for method, _, _ in function.steps):
            return None
        bound = bind(function.info, (), self.named, need_outputs=False)
        if bound is not None and not isinstance(function, SpecialFunction):
            return Callee(bound, bound.signature.name, constants_text(function, "the call"))
        try:
            return find(function, (), self.named, "the call")
        except GradientError:
            return None  # a generic function without a derivative: SlangPy finds its types

    def _plainly(self) -> dict[str, np.ndarray]:
        """Call it by SlangPy's kernel."""
        info = self.function.info
        named = map_leaves(self.named, lambda _, value: _uploaded(self.function, value))
        returns = info.signature is None or info.signature.returns.name != "void"
        made = self.function(**named, **({"_result": "numpy"} if returns else {}))
        results = {p.name: named[p.name].to_numpy() for p in written(info) if hasattr(named.get(p.name), "to_numpy")}
        if returns:
            scalar = info.signature.returns.scalar if info.signature is not None else ""
            array = made.to_numpy() if hasattr(made, "to_numpy") else made
            results["result"] = _numeric(info.name, array, scalar)
        return results


def written(info: FunctionInfo) -> list[Parameter]:
    """List the parameters that a function writes to: outputs, and tensors that it writes by index."""
    if info.signature is None:
        return []
    return [p for p in info.signature.parameters if p.is_written]


def _numeric(function: str, made: Any, scalar: str) -> np.ndarray:
    if isinstance(made, np.ndarray | np.generic | int | float):
        return np.asarray(made, SCALARS.get(scalar))
    raise CallError(
        f"{function} gives structs, which have no array type",
        function=function,
        remedy="return numbers or vectors, or add an out parameter for each field",
    )


def _weights(seeds: Mapping[str, Any]) -> dict[str, Any]:
    return {name: 0.0 if seed is None else seed for name, seed in seeds.items()}


def _uploaded(function: Function, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind != "b":
        return tensor(value, session=function.session)
    return value


def is_empty(callee: Callee) -> bool:
    """Tell whether a call has no elements."""
    return any(value.size == 0 for _, value in _arrays(callee))


def _empty(callee: Callee | None, named: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
    """Give the results of a call over no elements; None for other calls."""
    if callee is None or not is_empty(callee):
        return None
    shape: tuple[int, ...] = ()
    for t, value in _arrays(callee):
        outer = value.shape[: value.ndim - len(t.shape)]
        try:
            shape = np.broadcast_shapes(shape, outer)
        except ValueError:
            raise CallError(
                f"{callee.name}: an argument has shape {outer}, the others {shape}", function=callee.name
            ) from None
    signature = callee.bound.signature
    outputs = outputs_of(signature.returns, signature.parameters)
    return {
        o.id: np.empty((*shape, *o.type.shape), SCALARS[o.type.scalar]) for o in outputs if o.type.kind in PLAIN_KINDS
    }


def _arrays(callee: Callee) -> Iterator[tuple[TypeInfo, np.ndarray]]:
    for slot in callee.bound.slots:
        for _, t, value in leaves(slot.parameter.name, slot.parameter.type, slot.value):
            if isinstance(value, np.ndarray) and t.kind in PLAIN_KINDS:
                yield t, value
