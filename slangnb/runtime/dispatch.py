"""How a call finds what runs it: SlangPy's kernel or our own, what is checked before, and what is noted after."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from slangnb.compiler.loading import Loaded, function_node, slangpy_errors
from slangnb.devices.log import captured_log
from slangnb.errors import CallError, SlangNbError
from slangnb.runtime.arguments import key_functions, key_of
from slangnb.runtime.binding import Bound, bind
from slangnb.runtime.checking import check_arguments
from slangnb.runtime.constants import constants_of, exported
from slangnb.runtime.foreign import library_of
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Call
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.health import check_sums, look_at_gradients
from slangnb.runtime.known_faults import check_branch_reads, check_doubles, gradient_mark, warn_of_overwritten_inputs
from slangnb.runtime.listed import has_lists, with_arrays
from slangnb.runtime.own import can_be_own, own_launch, refuse_lost_gradients, wants_own
from slangnb.runtime.plan import KEPT_BY_OWN, Plan, Recent, make_plan, remember, sizes_of
from slangnb.runtime.saying import warn_once
from slangnb.runtime.target import Step, Target
from slangnb.runtime.translate import call_error
from slangnb.runtime.typed import call_to_audit, in_double
from slangnb.runtime.unset import warn_of_unset

if TYPE_CHECKING:
    import slangpy
    from slangpy.core.function import FunctionNode

    from slangnb.runtime.function import Function

#: Bools take four bytes there, which it takes for four bools.
UNREADABLE = (
    "gives a tensor of bool, which other functions take, but whose to_numpy() is wrong in SlangPy 0.43; pass numpy "
    "arrays, or let it return int"
)
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Dispatch:
    """Runs the calls of a function, and remembers how calls of each kind are run.

    It belongs to one version of the function: what it remembers is nothing that another may use.

    Attributes
    ----------
    target, steps, is_backward, audited
        As those of `Function`.
    """

    def __init__(self, target: Target, steps: tuple[Step, ...], is_backward: bool, audited: bool = True) -> None:
        self.target = target
        self.steps = steps
        self.is_backward = is_backward
        self.audited = audited
        self._key_function = key_functions().get
        self._plans: dict[Hashable, Plan] = {}
        self._recent: Recent | None = None  # what may be called without a look
        self._passed: Recent | None = None  # what passed the checks that are made at every call
        self._own_last: Recent | None = None  # what our own kernel may be launched for without a look
        self._doubles: dict[str, Function] = {}  # a generic function with its types, by its name with these
        self._met_library = False  # whether a library's values came before

    def __call__(self, function: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run a call of the function, which goes to the library's adapter if an argument is another library's."""
        session = self.target.session
        if not session.entered:
            session.enter()
        accumulate = self.is_backward and self._pop_accumulate(kwargs)
        values = (*args, *kwargs.values())
        if self._met_library and (library := library_of(values)) is not None:
            return library.call(function, args, kwargs)
        recent = self._recent
        if recent is not None and recent.fits(kwargs, values):
            try:
                result = recent.run(*args, **kwargs)
            except slangpy_errors() as error:
                raise self._translated(error, args, kwargs) from None
            return self._noted(result, recent.writes)
        own = self._own_last
        if own is not None and accumulate == own.accumulate and own.fits(kwargs, values):
            if self.is_backward:
                self._check_stale(args, kwargs)
            return own.run({**dict(enumerate(args)), **kwargs})
        if has_lists(values):
            args, kwargs = with_arrays(self.target.info, args, kwargs)
            values = (*args, *kwargs.values())
        parts: list[Hashable] = [len(args), *kwargs]
        try:
            for value in values:
                kind = type(value)
                of = self._key_function(kind, key_of)
                parts.append(kind if of is None else of(value))
        except CallError as error:
            raise self._named(error, len(parts) - 1 - len(kwargs), args, kwargs) from None
        key = tuple(parts)
        plan = self._plans.get(key)
        if plan is None:
            return self._first(function, key, args, kwargs, accumulate)
        return self._again(plan, args, kwargs, accumulate)

    def _first(self, function: Function, key: Hashable, args: Args, kwargs: Kwargs, accumulate: bool) -> Any:
        """The first call with arguments of these kinds: check, compile in the guard's child, then run."""
        target, values = self.target, (*args, *kwargs.values())
        library = library_of(values)
        loaded = target.require()
        warn_of_unset(target, uniforms_of(self.steps), self.is_backward)
        if library is not None:
            self._met_library = True
            return library.call(function, args, kwargs)
        if not self.is_backward and (typed := in_double(function, args, kwargs, self._doubles)) is not None:
            return typed(*args, **kwargs)
        bound = self._checked(args, kwargs)
        mapped = any(method == "map" for method, _, _ in self.steps)
        chain = (*self.steps, *gradient_mark(args, kwargs))
        try:
            plan = make_plan(self.node(loaded, chain), target.info, bound, args, kwargs, self.is_backward, mapped)
        except slangpy_errors() as error:
            raise self._translated(error, args, kwargs) from None
        plan.own = "_thread_count" not in kwargs and can_be_own(bound, self.steps)
        ours = plan.own and wants_own(values, self.is_backward)
        if self.is_backward:
            self._before_backward(bound, args, kwargs, ours)
        run = self._own if ours else self._by_slangpy
        result = run(plan, args, kwargs, accumulate)
        self._plans[key] = plan
        if (
            type(result) is tensor_class()
            and result.dtype.full_name == "bool"
            and result.dtype.buffer_layout.stride > 1
        ):
            warn_once(target, f"{target.info.name} {UNREADABLE}", kind=UserWarning)
        if self.is_backward and bound is not None and not ours:
            look_at_gradients(target, bound)
        return result

    def _again(self, plan: Plan, args: Args, kwargs: Kwargs, accumulate: bool) -> Any:
        """A call with arguments of kinds that came before: what the plan's key does not tell is checked."""
        values = (*args, *kwargs.values())
        if plan.recheck and (self._passed is None or not self._passed.fits(kwargs, values)):
            bound = self._checked(args, kwargs)
            if self.is_backward:
                self._audit(bound, args, kwargs)  # again, since a loop may run more often now
                if bound is not None and not (plan.own and wants_own(values, True)):
                    check_sums(self.target, bound)
            # Values of uniforms may change in the dict that was given to `set`.
            changing = self.is_backward and any(step[0] == "set" for step in self.steps)
            self._passed = None if changing else remember(plan.node, args, kwargs)
        elif plan.writes and (sizes := sizes_of(values)) != plan.sizes:
            self._checked(args, kwargs)  # the plan's key does not tell shapes, and an output may be too small now
            plan.sizes = sizes
        if self.is_backward:
            self._check_stale(args, kwargs)
        if plan.own and wants_own(values, self.is_backward):
            return self._own(plan, args, kwargs, accumulate)
        if plan.plain and plan.guarded:
            self._recent = remember(plan.node, args, kwargs, writes=plan.written(args, kwargs))
        return self._by_slangpy(plan, args, kwargs, accumulate)

    def _own(self, plan: Plan, args: Args, kwargs: Kwargs, accumulate: bool) -> Any:
        """Run the call by our own kernel, or by SlangPy's if ours cannot."""
        bound = bind(self.target.info, args, kwargs)
        assert bound is not None  # plan.own says so
        try:
            launch = own_launch(self.target, bound, accumulate, self.is_backward)
        except NotFusedError as reason:
            if self.is_backward:
                self._check_sums(bound, str(reason))
            return self._by_slangpy(plan, args, kwargs, accumulate)
        self._own_last = remember(launch, args, kwargs, KEPT_BY_OWN, accumulate=accumulate)
        return launch({**dict(enumerate(args)), **kwargs})

    def _by_slangpy(self, plan: Plan, args: Args, kwargs: Kwargs, accumulate: bool) -> Any:
        """Run SlangPy's kernel."""
        try:
            if plan.guarded:
                result = plan.run(args, kwargs, accumulate, self.target.session.wait)
            else:
                result = self._guarded(plan, args, kwargs, accumulate)
        except slangpy_errors() as error:
            raise self._translated(error, args, kwargs) from None
        return self._noted(result, plan.written(args, kwargs), (*args, *kwargs.values()))

    def _guarded(self, plan: Plan, args: Args, kwargs: Kwargs, accumulate: bool) -> Any:
        """Run SlangPy's kernel for the first time: the guard's child compiles it first."""
        target = self.target
        check_doubles(target.session.backend, target.info.name, target.session.texts_of(target.owner))
        chain = (*self.steps, *gradient_mark(args, kwargs))
        units = target.session.units_of(target.owner)
        target.session.gate.kernel(units, target.info, chain, self.is_backward, args, kwargs)
        with captured_log():
            result = plan.run(args, kwargs, accumulate, target.session.wait)
        target.session.wait()  # an endless kernel shows itself here, where it can be interrupted
        plan.guarded = True
        return result

    def _noted(self, result: Any, written: Iterable[slangpy.Tensor], values: Iterable[Any] = ()) -> Any:
        """Take note of the tensors that the call wrote, and of the values that it made them of."""
        writes, maker = self.target.session.writes, self.target.maker
        for t in written:
            writes.wrote(t, values, maker)
        if type(result) is tensor_class():
            writes.wrote(result, values, maker)
        return result

    def _before_backward(self, bound: Bound | None, args: Args, kwargs: Kwargs, ours: bool) -> None:
        """What is checked before the first backward call of a kind; our own kernels need less of it."""
        session = self.target.session
        if bound is not None:
            warn_of_overwritten_inputs(bound)
            check_branch_reads(session.backend, bound, session.texts_of(self.target.owner))
        self._check_stale(args, kwargs)
        if not ours:
            self._audit(bound, args, kwargs)
            if bound is not None:
                self._check_sums(bound, "its arguments are of kinds that only SlangPy takes")

    def _check_stale(self, args: Args, kwargs: Kwargs) -> None:
        """Refuse a backward call whose inputs were written after its result, or whose function was compiled since."""
        result: Any = kwargs.get("_result", args[-1] if args else None)
        if type(result) is tensor_class():
            inputs = [v for v in (*args, *kwargs.values()) if v is not result]
            self.target.session.writes.check(result, inputs, self.target)

    def _check_sums(self, bound: Bound, why_slangpy: str) -> None:
        """Refuse a backward call whose gradients SlangPy's kernel would lose; warn of those that it sums badly."""
        refuse_lost_gradients(bound, why_slangpy)
        check_sums(self.target, bound)

    def _audit(self, bound: Bound | None, args: Args, kwargs: Kwargs) -> None:
        """Refuse a backward call whose gradient the compiler gets wrong."""
        if not self.audited:
            return
        # Other changes say how the call is mapped and run: not what the compiler gets wrong.
        given = [step[1][0] for step in self.steps if step[0] == "constants"]
        lines = [exported(*one) for constants in given for one in constants_of(self.target, constants).items()]
        uniforms = uniforms_of(self.steps)
        if bound is not None:
            audit(Call.of(self.target, bound, prelude="\n".join(line for line in lines if line)), uniforms=uniforms)
        elif (call := call_to_audit(self.target, args, kwargs)) is not None:
            audit(call, uniforms=uniforms)

    def _checked(self, args: Args, kwargs: Kwargs) -> Bound | None:
        """Bind and check the arguments; None where only SlangPy can bind them."""
        return check_arguments(self.target, self.target.require(), self.steps, self.is_backward, args, kwargs)

    def _translated(self, error: Exception, args: Args, kwargs: Kwargs) -> SlangNbError:
        try:
            bound = self._checked(args, kwargs)
        except CallError as better:
            return better
        units = self.target.session.units_of(self.target.owner)
        return call_error(error, self.target.info, bound, {u.module: u.source for u in units})

    def _named(self, error: CallError, k: int, args: Args, kwargs: Kwargs) -> CallError:
        """Say the function and the argument, the k-th that was passed, in an error that knows only the value."""
        info = self.target.info
        known = info.signature.parameters if info.signature is not None else ()
        names = [*[known[i].name if i < len(known) else f"argument {i + 1}" for i in range(len(args))], *kwargs]
        text = f"{info.name}: {names[k]!r} is {error.message}"
        return CallError(text, function=info.name, argument=names[k], remedy=error.remedy)

    def _pop_accumulate(self, kwargs: Kwargs) -> bool:
        """``accumulate=True`` is ours, unless the function has a parameter of that name."""
        signature = self.target.info.signature
        if "accumulate" in kwargs and not (signature and any(p.name == "accumulate" for p in signature.parameters)):
            return bool(kwargs.pop("accumulate"))
        return False

    def node(self, loaded: Loaded, chain: tuple[Step, ...]) -> FunctionNode:
        """Give SlangPy's own function, with these changes."""
        node: Any = function_node(loaded, self.target.info.name, self.target.info.own)
        for method, args, kwargs in chain:
            if method == "constants":
                args = (constants_of(self.target, *args),)  # again, since the module may declare others now
            node = getattr(node, method)(*args, **kwargs)
        return node.bwds if self.is_backward else node


def uniforms_of(steps: tuple[Step, ...]) -> dict[str, Any] | None:
    """Give the values of global uniforms that were set, the last ones; None if a function of the person gives some.

    Examples
    --------
    >>> uniforms_of((("set", ({"n": 8},), {}), ("set", (), {"n": 9}))), uniforms_of((("set", (print,), {}),))
    ({'n': 9}, None)
    """
    found: dict[str, Any] = {}
    for method, args, named in steps:
        if method == "set":
            if any(not isinstance(one, dict) for one in args):
                return None
            found = {**found, **dict(*args), **named}
    return found


@cache
def tensor_class() -> type:
    """Give SlangPy's class of tensors; an import at each call would cost more than the look."""
    import slangpy as spy

    return spy.Tensor
