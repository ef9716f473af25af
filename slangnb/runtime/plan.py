"""What a call does each time, decided once for each kind of arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import FunctionInfo, Parameter
from slangnb.errors import CallError
from slangnb.runtime.arguments import PLAIN, adapter_of
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.checks import check_inner, inner_sizes, leaves
from slangnb.runtime.extents import call_shape, lifted
from slangnb.runtime.gradient_checks import places_of_outputs
from slangnb.runtime.stale import tensors_in
from slangnb.runtime.structs import has_struct
from slangnb.runtime.takers import receives

if TYPE_CHECKING:
    import slangpy
    from slangpy.core.function import FunctionNode

#: Parameter names that SlangPy's own Python code uses for itself, so that they cannot be passed by name.
TAKEN = frozenset({"self", "func", "build_info", "context"})

Place = int | str
Prepare = Callable[[Any, Parameter | None], Any]


@dataclass(slots=True)
class Plan:
    """The SlangPy function to call, and what to do to the arguments before and after.

    Attributes
    ----------
    node : FunctionNode
        SlangPy's function, for exactly these kinds of arguments.
    edits : tuple
        (place, parameter, prepare) of arguments that are converted at every call.
    inner : tuple
        (place, parameter) of tensors whose last dimensions are checked at every call.
    order : tuple of str or None
        Parameter names, when the arguments must go by position.
    outputs : tuple
        Places of numpy arrays that the call writes to.
    numpy_result : bool
        The result is read back as a numpy array, after a wait that can be interrupted.
    plain : bool
        Nothing needs to be done but to call `node`.
    recheck : bool
        The checks of the first call are made at every call: what they look at is not all in the plan's key.
    clears : callable or None
        Gives the gradients to zero before a backward call.
    writes : tuple
        Places of the tensors that a forward call writes to.
    sizes : list or None
        Shapes of the arguments that passed the checks, for calls that write to tensors; see `sizes_of`.
    own : bool
        Whether our own kernels may take calls of this kind.
    guarded : bool
        Whether the guard's child has compiled SlangPy's kernel.
    """

    node: FunctionNode
    edits: tuple[tuple[Place, Parameter | None, Prepare], ...] = ()
    inner: tuple[tuple[Place, Parameter], ...] = ()
    order: tuple[str, ...] | None = None
    outputs: tuple[Place, ...] = ()
    numpy_result: bool = False
    plain: bool = False
    recheck: bool = False
    clears: Callable[[tuple[Any, ...], dict[str, Any]], list[slangpy.Tensor]] | None = None
    writes: tuple[Place, ...] = ()
    sizes: list[Any] | None = None
    own: bool = False
    guarded: bool = False

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], accumulate: bool, wait: Callable[[], None]) -> Any:
        """Do the call; `wait` waits for the device so that a person can interrupt it."""
        for place, parameter in self.inner:
            value: Any = args[place] if isinstance(place, int) else kwargs[place]
            check_inner(self.node.name, parameter.name, parameter.type, value)
        before = edited = (args, kwargs)
        empty = False
        if self.edits:
            args, kwargs, empty = self._edit(args, kwargs)
            edited = (args, kwargs)
        if self.order is not None:
            args, kwargs = by_position(args, kwargs, self.order)
        if empty:
            return self._run_empty(args, kwargs)
        if self.clears is not None and not accumulate:
            for gradient in self.clears(*before):
                gradient.clear()
        if not self.numpy_result:
            result = self.node(*args, **kwargs)
        else:
            made: Any = self.node(*args, **{**kwargs, "_result": "tensor"})
            wait()
            result = made.to_numpy() if made is not None else None
        for place in self.outputs:
            _copy_back(before, edited, place)
        return result

    def written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[slangpy.Tensor, ...]:
        """Give the tensors that a forward call writes to."""
        return tuple([args[p] if isinstance(p, int) else kwargs[p] for p in self.writes])

    def _edit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
        positional, named, empty = list(args), dict(kwargs), False
        for place, parameter, prepare in self.edits:
            target: Any = positional if isinstance(place, int) else named
            value = target[place]
            if type(value) is np.ndarray and value.size == 0:
                empty = True
            target[place] = prepare(value, parameter)
        return tuple(positional), named, empty

    def _run_empty(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call over no elements: SlangPy can give an empty numpy result, but has no empty tensors."""
        if not self.numpy_result:
            raise CallError(
                f"{self.node.name}: an argument is empty, and SlangPy has no empty tensors for the result",
                function=self.node.name,
                remedy="ask for a numpy result: _result='numpy'",
            )
        return self.node(*args, **{**kwargs, "_result": "numpy"})


#: Values of these types are kept, too. A whole number may decide how often a loop runs: our own kernels look at it.
KEPT = PLAIN | {str}
KEPT_BY_OWN = KEPT - {int, bool}
#: Larger tensors are not kept alive by a function that was called with them; their kernels take long anyway.
LARGEST_KEPT_BYTES = 1 << 20


@dataclass(slots=True)
class Recent:
    """The last call of a function: the same tensors again, with any numbers, need no second look.

    Attributes
    ----------
    run : callable
        What to call: SlangPy's function, or the launch of our own kernel.
    names : tuple of str
        Of the named arguments.
    values : tuple
        All arguments.
    gradients : tuple of (Tensor, Tensor or None, Tensor or None)
        Its tensors with their gradients: others may be attached later.
    writes : tuple of Tensor
        Those that the call writes to.
    accumulate : bool
        Whether gradients are added to those that are there.
    """

    run: Callable[..., Any]
    names: tuple[str, ...]
    values: tuple[Any, ...]
    gradients: tuple[tuple[slangpy.Tensor, slangpy.Tensor | None, slangpy.Tensor | None], ...]
    writes: tuple[slangpy.Tensor, ...] = ()
    accumulate: bool = False

    def fits(self, kwargs: dict[str, Any], values: tuple[Any, ...]) -> bool:
        """Tell whether a call is like the last one."""
        if len(values) != len(self.values) or tuple(kwargs) != self.names:
            return False
        for new, old in zip(values, self.values, strict=True):
            if new is not old and not (type(new) is type(old) is float):
                return False
        return all(t.grad_in is grad_in and t.grad_out is grad_out for t, grad_in, grad_out in self.gradients)


def remember(
    run: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kept: Set[type] = KEPT,
    writes: tuple[slangpy.Tensor, ...] = (),
    accumulate: bool = False,
) -> Recent | None:
    """Remember a call, if nothing about its arguments can change but what `Recent.fits` looks at."""
    import slangpy as spy

    values = (*args, *kwargs.values())
    gradients = []
    for value in values:
        if type(value) is spy.Tensor and value.storage.size <= LARGEST_KEPT_BYTES:
            gradients.append((value, value.grad_in, value.grad_out))
        elif type(value) not in kept:
            return None
    return Recent(run, tuple(kwargs), values, tuple(gradients), writes, accumulate)


def sizes_of(values: Iterable[Any]) -> list[Any]:
    """Give the shapes of a call's arguments, and whether tensors among them may repeat elements, or overlap."""
    import slangpy as spy

    found, storages = [], []
    for v in values:
        if type(v) is spy.Tensor:
            found.append((v.shape.as_tuple(), v.is_contiguous()))
            storages.append((id(v.storage), v.offset, v.strides.as_tuple()))
        else:
            found.append(getattr(v, "shape", None))
    return found if len({place for place, *_ in storages}) == len(storages) else [*found, *storages]


def by_position(
    args: tuple[Any, ...], kwargs: dict[str, Any], order: tuple[str, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Turn named arguments into positional ones; extras such as ``_result`` stay named.

    Examples
    --------
    >>> by_position((1,), {"context": 2, "_result": "numpy"}, ("self", "context"))
    ((1, 2), {'_result': 'numpy'})
    """
    rest = dict(kwargs)
    moved = [rest.pop(name) for name in order[len(args) :] if name in rest]
    return (*args, *moved), rest


def _copy_back(before: tuple[Any, Any], after: tuple[Any, Any], place: Place) -> None:
    """A non-contiguous output was written through a copy: bring the values home."""
    where = 0 if isinstance(place, int) else 1
    _write_home(before[where][place], after[where][place])


def _write_home(original: Any, written: Any) -> None:
    if isinstance(original, dict):
        for key, value in original.items():
            _write_home(value, written[key])
    elif isinstance(original, np.ndarray) and written is not original:
        original[...] = written


def make_plan(
    node: FunctionNode,
    info: FunctionInfo,
    bound: Bound | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    backward: bool,
    mapped: bool,
) -> Plan:
    """Decide the plan from the first call's arguments; later calls of the same kinds reuse it."""
    import slangpy as spy

    parameters: dict[Place, Parameter] = {s.place: s.parameter for s in bound.slots} if bound else {}
    edits, inner, outputs = [], [], []
    for place, value in [*enumerate(args), *kwargs.items()]:
        p = parameters.get(place)
        if isinstance(value, spy.Tensor):
            if p is not None and not mapped and inner_sizes(p.type, value.dtype.shape.as_tuple()):
                inner.append((place, p))
        elif (type(value) not in PLAIN and place != "_result") or isinstance(value, np.ndarray):
            adapter = adapter_of(value)
            if adapter is not None and adapter.prepare is not None:
                lifts = p is not None and p.io == "in" and isinstance(value, dict) and not mapped
                edits.append((place, p, _lifting(bound, adapter.prepare) if bound and lifts else adapter.prepare))
        if isinstance(value, np.ndarray | dict) and (place == "_result" or (p is not None and p.io != "in")):
            outputs.append(place)
    order = None
    if bound is not None and TAKEN & kwargs.keys():
        order = tuple(p.name for p in bound.signature.parameters)
    wants_numpy = not backward and (
        kwargs.get("_result") == "numpy" if isinstance(kwargs.get("_result"), str) else False
    )
    clears = None
    if backward:
        clears = _clearing(bound) if bound is not None else _clearing_all(places_of_outputs(info, args, kwargs))
    plain = not (edits or inner or outputs or order or wants_numpy or clears)
    writes = [] if backward else [s.place for s in (bound.slots if bound else ()) if _is_written(s)]
    if bound is not None and isinstance(bound.result, spy.Tensor) and bound.result_place is not None and not backward:
        writes.append(bound.result_place)
    recheck = bool(backward or outputs or any(_can_change(v) for v in (*args, *kwargs.values())))
    return Plan(
        node, tuple(edits), tuple(inner), order, tuple(outputs), wants_numpy, plain, recheck, clears, tuple(writes)
    )


def _lifting(bound: Bound, prepare: Prepare) -> Prepare:
    """Give what prepares a dict for calls of this kind: its fields get the dimensions of the call."""
    dimensions = len(call_shape(bound))
    return lambda value, p: lifted(p.type, prepare(value, p), dimensions) if p else value


def _can_change(value: Any) -> bool:
    """Tell whether a value of the same kind may need the checks again: a dict, or structs from before a change."""
    import slangpy as spy

    return isinstance(value, dict) or (isinstance(value, spy.Tensor) and has_struct(value.dtype))


def _is_written(slot: Slot) -> bool:
    import slangpy as spy

    return slot.parameter.is_written and isinstance(slot.value, spy.Tensor)


def _clearing_all(outputs: Set[Place]) -> Callable[[tuple[Any, ...], dict[str, Any]], list[slangpy.Tensor]]:
    """Likewise, where only SlangPy can tell the overload: what is neither the result nor another output."""

    def gradients(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[slangpy.Tensor]:
        values = [v for place, v in [*enumerate(args), *kwargs.items()] if place not in outputs and place != "_result"]
        return [t.grad_out for t in tensors_in(values) if t.grad_out is not None]

    return gradients


def _clearing(bound: Bound) -> Callable[[tuple[Any, ...], dict[str, Any]], list[slangpy.Tensor]]:
    """Which gradients a backward call writes: those of inputs, never the seeds of outputs."""
    import slangpy as spy

    places = [(s.place, s.parameter) for s in bound.slots if receives(s.parameter, s.parameter.type)]

    def gradients(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[slangpy.Tensor]:
        found = []
        for place, p in places:
            value = args[place] if isinstance(place, int) else kwargs[place]
            for _, t, leaf in leaves(p.name, p.type, value):
                if isinstance(leaf, spy.Tensor) and leaf.grad_out is not None and receives(p, t):
                    found.append(leaf.grad_out)
        return found

    return gradients
