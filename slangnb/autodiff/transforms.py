"""`value_and_grad` and `grad`: functions of functions, run by one fused kernel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.autodiff.kernels import ENTRY, GROUP, REDUCE_ENTRY, REDUCE_TEXT, kernel_text, slots
from slangnb.autodiff.operands import Given, flat, size, sort_arguments
from slangnb.autodiff.tuning import MOST_THREADS, per_thread
from slangnb.compiler.reflection import Signature, innermost_scalar
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import bind
from slangnb.runtime.function import Function
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    import slangpy


@dataclass(slots=True)
class _Kernels:
    main: slangpy.ComputeKernel
    reduce: slangpy.ComputeKernel


class Transform:
    """A function made by `value_and_grad` or `grad`; call it with the arguments of the Slang function."""

    def __init__(self, function: Function, wrt: tuple[str, ...] | None, reduce: str, single: bool, value: bool) -> None:
        if reduce not in ("sum", "mean"):
            raise CallError(f"reduce must be 'sum' or 'mean', not {reduce!r}")
        self._function = function
        self._wrt = wrt
        self._reduce = reduce
        self._single = single
        self._value = value
        self._kernels: dict[Hashable, _Kernels] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Give the gradients, or value and gradients, at these arguments."""
        target = self._function._target
        session = target.session
        session.refuse_while_stopped()
        bound = bind(target.info, args, kwargs)
        if bound is None:
            raise GradientError(
                f"{target.info.name} is overloaded or generic; value_and_grad cannot tell which is meant"
            )
        given, shape = sort_arguments(bound, self._wrt, session.device)
        value, grads = self._run(bound.signature, given, shape)
        if self._single:
            (grads,) = grads.values()
        return (value, grads) if self._value else grads

    def _run(self, signature: Signature, given: list[Given], shape: tuple[int, ...]) -> tuple[float, dict[str, Any]]:
        session = self._function._target.session
        device = session.device
        count = int(np.prod(shape))
        k = per_thread(count)
        threads = -(-count // (k * GROUP)) * GROUP
        if threads > MOST_THREADS:
            raise CallError(f"{count} elements are too many for one call", remedy="split the data and add the results")
        kernels = self._get(signature, given, k, threads * k == count)
        groups = threads // GROUP
        variables, outputs = self._buffers(given, count)
        rows = sum(n for _, n in slots(signature, [g.operand for g in given]))
        partial, total = make_buffer(device, rows * groups), make_buffer(device, rows * 2)
        seed = 1.0 / count if self._reduce == "mean" else 1.0
        encoder = device.create_command_encoder()
        numbers = {"count": count, "threads": threads, "groups": groups, "seed": seed}
        kernels.main.dispatch([threads, 1, 1], command_encoder=encoder, partial=partial, **numbers, **variables)
        encoder.global_barrier()
        kernels.reduce.dispatch(
            [GROUP * rows, 1, 1], command_encoder=encoder, groups=groups, partial=partial, total=total
        )
        device.submit_command_buffer(encoder.finish())
        session.wait()
        sums = total.to_numpy().view(np.float32).astype(np.float64).reshape(rows, 2).sum(axis=1)
        return self._collect(given, shape, sums, outputs, seed)

    def _collect(
        self, given: list[Given], shape: tuple[int, ...], sums: np.ndarray, outputs: dict[str, Any], seed: float
    ) -> tuple[float, dict[str, Any]]:
        grads: dict[str, Any] = {}
        row = 1
        for g in given:
            o = g.operand
            if not o.wanted:
                continue
            if o.each:
                grads[o.name] = (
                    outputs[o.name] if g.kind == "tensor" else outputs[o.name].to_numpy().reshape(np.shape(g.value))
                )
                continue
            n = max(1, int(np.prod(o.type.shape)))
            found = sums[row : row + n].astype(SCALARS[o.type.scalar])
            row += n
            grads[o.name] = self._shared(g, found)
        return float(sums[0] * seed), grads

    def _shared(self, g: Given, found: np.ndarray) -> Any:
        import slangpy as spy

        if g.kind == "number":
            return float(found[0]) if np.ndim(g.value) == 0 else found.reshape(np.shape(g.value))
        if g.kind == "numpy":
            return found.reshape(np.shape(g.value))
        made = spy.Tensor.empty(g.value.device, shape=g.value.shape, dtype=g.value.dtype)
        made.copy_from_numpy(found.reshape(made.to_numpy().shape))
        return made

    def _buffers(self, given: list[Given], count: int) -> tuple[dict[str, Any], dict[str, Any]]:
        import slangpy as spy

        device = self._function._target.session.device
        variables: dict[str, Any] = {}
        outputs: dict[str, Any] = {}
        for g in given:
            o = g.operand
            plain = g.kind == "tensor" and g.value.offset == 0 and g.value.is_contiguous() and packed(g.value)
            if plain:
                variables[f"in_{o.name}"] = g.value.storage
            else:
                data = g.value.to_numpy() if g.kind == "tensor" else g.value
                array = flat(Given(o, data, "numpy", g.shape))
                variables[f"in_{o.name}"] = spy.Tensor.from_numpy(device, array).storage
            if o.wanted and o.each:
                if g.kind == "tensor" and packed(g.value):
                    made = spy.Tensor.empty(device, shape=g.value.shape, dtype=g.value.dtype)
                else:
                    made = spy.Tensor.empty(device, shape=(size(g, count),), dtype=o.type.scalar)  # pyright: ignore[reportArgumentType]
                outputs[o.name] = made
                variables[f"out_{o.name}"] = made.storage
        return variables, outputs

    def _get(self, signature: Signature, given: list[Given], k: int, exact: bool) -> _Kernels:
        target = self._function._target
        operands = tuple(g.operand for g in given)
        key = (target.version, str(signature), tuple((o.name, o.each, o.wanted) for o in operands), k, exact)
        found = self._kernels.get(key)
        if found is None:
            loaded = self._function._loaded()
            text = kernel_text(signature, loaded.name, operands, k, exact)
            main = target.session.kernel(text, ENTRY, target.owner)
            reduce = target.session.kernel(REDUCE_TEXT, REDUCE_ENTRY, None)
            found = self._kernels[key] = _Kernels(main, reduce)
        return found


def packed(t: slangpy.Tensor) -> bool:
    """Tell whether a tensor's elements are stored without gaps, as the kernel reads them."""
    return t.dtype.buffer_layout.stride == np.dtype(SCALARS[innermost_scalar(t.dtype)]).itemsize * max(
        1, int(np.prod(t.dtype.shape.as_tuple()))
    )


def make_buffer(device: slangpy.Device, floats: int) -> slangpy.Buffer:
    """Make a buffer of floats that kernels read and write."""
    import slangpy as spy

    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    return device.create_buffer(element_count=floats, struct_size=4, usage=usage)


def value_and_grad(function: Function, wrt: str | Sequence[str] | None = None, reduce: str = "sum") -> Transform:
    """Make a function that gives the sum of a Slang function over all elements, and its gradients, in one kernel.

    Parameters
    ----------
    function : Function
        A differentiable Slang function of single elements.
    wrt : str or sequence of str, optional
        The arguments to take gradients of; by default all that have a derivative.
    reduce : {"sum", "mean"}
        What is made of the values of all elements. A vector, matrix or array result counts with all its components.

    Returns
    -------
    callable
        Called with the function's arguments it gives ``(value, gradients)``: a float, and a dict by name (or the one
        gradient, when `wrt` is a single name). Each gradient is of the kind that came in: number for number, numpy for
        numpy, SlangPy tensor for tensor. An argument with one value for all elements gets the sum over all of them,
        accurate to about 1e-7 and the same bits at every run.

    Raises
    ------
    CallError, GradientError
        When called with arguments that do not fit.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float f(float a, float x) { return a * x * x; }")
    >>> value, grads = sn.value_and_grad(m.f, wrt=("a", "x"))(a=2.0, x=np.array([1, 2, 3], np.float32))
    >>> value, grads["a"], grads["x"]
    (28.0, 14.0, array([ 4.,  8., 12.], dtype=float32))
    """
    return Transform(function, _names(wrt), reduce, isinstance(wrt, str), True)


def grad(function: Function, wrt: str | Sequence[str] | None = None, reduce: str = "sum") -> Transform:
    """Make a function that gives the gradients alone; see `value_and_grad`.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float f(float a, float x) { return a * x * x; }")
    >>> sn.grad(m.f, wrt="x")(a=2.0, x=3.0)
    12.0
    """
    return Transform(function, _names(wrt), reduce, isinstance(wrt, str), False)


def _names(wrt: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if wrt is None:
        return None
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)
