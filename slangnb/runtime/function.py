"""A Slang function as a Python callable: SlangPy's calling convention, with checks before launch."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from slangnb.compiler.loading import Loaded, captured_log, function_node, slangpy_errors
from slangnb.compiler.reflection import FunctionInfo
from slangnb.errors import CallError, SlangNbError
from slangnb.runtime.arguments import key_functions, key_of
from slangnb.runtime.binding import Bound, bind
from slangnb.runtime.checking import check_arguments
from slangnb.runtime.constants import constants_of, exported
from slangnb.runtime.describing import describe, no_attribute, python_signature
from slangnb.runtime.foreign import library_of
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Call
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.health import check_sums, look_at_gradients
from slangnb.runtime.known_faults import check_branch_reads, gradient_mark, warn_of_overwritten_inputs
from slangnb.runtime.listed import has_lists, with_arrays
from slangnb.runtime.own import OwnRecent, can_be_own, own_launch, own_recent, refuse_lost_gradients, wants_own
from slangnb.runtime.plan import Plan, Recent, make_plan, remember, sizes_of
from slangnb.runtime.target import Step, Target
from slangnb.runtime.translate import call_error
from slangnb.runtime.typed import call_to_audit, in_double

if TYPE_CHECKING:
    import slangpy
    from slangpy.core.function import FunctionNode

    from slangnb.runtime.session import Session


class Function:
    """A Slang function of a module.

    Call it as SlangPy functions are called: arguments by position or name, ``_result="numpy"``, ``"tensor"`` or a
    tensor to fill. ``f.bwds(...)`` is the backward pass: it writes the gradients of the arguments, starting from
    zero (or adding to what is there, with ``accumulate=True``), from the gradient that ``_result`` carries.

    Attributes
    ----------
    target : Target
        What its name means now.
    steps : tuple
        What ``map``, ``set``, ``constants`` and their kin were called with, in turn.
    is_backward : bool
        Whether this is a backward pass.

    Raises
    ------
    CallError
        For arguments that do not fit.
    GradientError
        For a backward call that could only give a wrong or silently zero gradient.
    CompileError
        For faults that Slang finds only when it makes the kernel.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float square(float x) { return x * x; }")
    >>> x = sn.tensor([1.0, 2.0, 3.0], grad=True)
    >>> m.square(x, _result="numpy")
    array([1., 4., 9.], dtype=float32)
    """

    def __init__(self, target: Target, steps: tuple[Step, ...] = (), is_backward: bool = False) -> None:
        self.target = target
        self.steps = steps
        self.is_backward = is_backward
        self._bwds: Function | None = None
        self._key_function = key_functions().get
        self._renew()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function; see the class for the convention."""
        target = self.target
        if target.version != self._version:
            self._renew()
        if not target.session.entered:
            target.session.enter()
        accumulate = self.is_backward and self._pop_accumulate(kwargs)
        values = (*args, *kwargs.values())
        if self._met_library and (library := library_of(values)) is not None:
            return library.call(self, args, kwargs)
        recent = self._recent
        if recent is not None and recent.fits(kwargs, values):
            try:
                result = recent.node(*args, **kwargs)
            except slangpy_errors() as error:
                raise self._translated(error, args, kwargs) from None
            return self._noted(result, recent.writes)
        own = self._own_last
        if own is not None and own.fits(kwargs, values, accumulate):
            if self.is_backward:
                self._check_stale(args, kwargs)
            return own.launch({**dict(enumerate(args)), **kwargs})
        if has_lists(values):
            args, kwargs = with_arrays(target.info, args, kwargs)
            values = (*args, *kwargs.values())
        parts: list[Hashable] = [len(args), *kwargs]
        for value in values:
            kind = type(value)
            of = self._key_function(kind, key_of)
            parts.append(kind if of is None else of(value))
        key = tuple(parts)
        plan = self._plans.get(key)
        if plan is None:
            return self._first(key, args, kwargs, accumulate)
        if plan.recheck and (self._passed is None or not self._passed.fits(kwargs, values)):
            bound = self._checked(args, kwargs)
            self._audit(bound, args, kwargs)  # again, since a loop may run more often now
            if self.is_backward and bound is not None and not (plan.own and wants_own(values, True)):
                check_sums(target.session, bound)
            self._passed = remember(plan, args, kwargs)
        elif plan.writes and (sizes := sizes_of(values)) != plan.sizes:
            self._checked(args, kwargs)  # the plan's key does not tell shapes, and an output may be too small now
            plan.sizes = sizes
        if self.is_backward:
            self._check_stale(args, kwargs)
        if plan.own and wants_own(values, self.is_backward):
            return self._own(plan, args, kwargs, accumulate)
        try:
            if plan.plain and plan.guarded:
                self._recent = remember(plan, args, kwargs)
            result = self._guarded(plan, args, kwargs, accumulate)
        except slangpy_errors() as error:
            raise self._translated(error, args, kwargs) from None
        return self._noted(result, plan.written(args, kwargs), values)

    def _noted(self, result: Any, written: Iterable[slangpy.Tensor], values: Iterable[Any] = ()) -> Any:
        """Take note of the tensors that the call wrote, and of the values that it made them of."""
        writes, maker = self.target.session.writes, self.target.maker
        for t in written:
            writes.wrote(t, values, maker)
        if type(result) is tensor_class():
            writes.wrote(result, values, maker)
        return result

    def _check_stale(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse a backward call whose inputs were written after its result, or whose function was compiled since."""
        result: Any = kwargs.get("_result", args[-1] if args else None)
        if type(result) is tensor_class():
            inputs = [v for v in (*args, *kwargs.values()) if v is not result]
            self.target.session.writes.check(result, inputs, self.target)

    def _own(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any], accumulate: bool) -> Any:
        """Run the call by our own kernel, or by SlangPy's if ours cannot."""
        bound = bind(self.target.info, args, kwargs)
        assert bound is not None  # plan.own says so
        try:
            launch = own_launch(self, bound, accumulate, self.is_backward)
        except NotFusedError as reason:
            refuse_lost_gradients(bound, self.is_backward, str(reason))
            if self.is_backward:
                check_sums(self.target.session, bound)
            result = self._guarded(plan, args, kwargs, accumulate)
            return self._noted(result, plan.written(args, kwargs), (*args, *kwargs.values()))
        self._own_last = own_recent(plan.node, kwargs, (*args, *kwargs.values()), accumulate, launch)
        return launch({**dict(enumerate(args)), **kwargs})

    def _guarded(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any], accumulate: bool) -> Any:
        """Run SlangPy's kernel; at the first time the guard's child compiles it first."""
        target = self.target
        if plan.guarded:
            return plan.run(args, kwargs, accumulate, target.session.wait)
        chain = (*self.steps, *gradient_mark(args, kwargs))
        units = target.session.units_of(target.owner)
        target.session.gate.kernel(units, target.info, chain, self.is_backward, args, kwargs)
        with captured_log():
            result = plan.run(args, kwargs, accumulate, target.session.wait)
        target.session.wait()  # an endless kernel shows itself here, where it can be interrupted
        plan.guarded = True
        return result

    def _pop_accumulate(self, kwargs: dict[str, Any]) -> bool:
        """``accumulate=True`` is ours, unless the function has a parameter of that name."""
        signature = self.target.info.signature
        if "accumulate" in kwargs and not (signature and any(p.name == "accumulate" for p in signature.parameters)):
            return bool(kwargs.pop("accumulate"))
        return False

    def _first(self, key: Hashable, args: tuple[Any, ...], kwargs: dict[str, Any], accumulate: bool) -> Any:
        """The first call with arguments of these kinds: check, compile in the guard's child, then run."""
        target, library = self.target, library_of((*args, *kwargs.values()))
        loaded = self.target.require()
        if library is not None:
            self._met_library = True
            return library.call(self, args, kwargs)
        if not self.is_backward and (typed := in_double(self, args, kwargs, self._doubles)) is not None:
            return typed(*args, **kwargs)
        bound = self._checked(args, kwargs)
        if bound is not None and self.is_backward:
            warn_of_overwritten_inputs(bound)
            check_branch_reads(target.session.backend, bound, target.session.texts_of(target.owner))
        mapped = any(method == "map" for method, _, _ in self.steps)
        chain = (*self.steps, *gradient_mark(args, kwargs))
        try:
            plan = make_plan(self._node(loaded, chain), target.info, bound, args, kwargs, self.is_backward, mapped)
        except slangpy_errors() as error:
            raise self._translated(error, args, kwargs) from None
        plan.own = "_thread_count" not in kwargs and can_be_own(bound, self.steps)
        if self.is_backward:
            self._check_stale(args, kwargs)
        if bound is not None:
            if plan.own and wants_own((*args, *kwargs.values()), self.is_backward):
                result = self._own(plan, args, kwargs, accumulate)
                self._plans[key] = plan
                return result
            self._audit(bound, args, kwargs)
            refuse_lost_gradients(bound, self.is_backward, "its arguments are of kinds that only SlangPy takes")
            if self.is_backward:
                check_sums(target.session, bound)
        else:
            self._audit(None, args, kwargs)
        try:
            result = self._guarded(plan, args, kwargs, accumulate)
        except slangpy_errors() as error:
            raise self._translated(error, args, kwargs) from None
        self._plans[key] = plan
        if self.is_backward and bound is not None:
            look_at_gradients(target.session, bound)
        return self._noted(result, plan.written(args, kwargs), (*args, *kwargs.values()))

    def _translated(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SlangNbError:
        try:
            bound = self._checked(args, kwargs)
        except CallError as better:
            return better
        units = self.target.session.units_of(self.target.owner)
        return call_error(error, self.target.info, bound, {u.module: u.source for u in units})

    def _checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound | None:
        """Bind and check the arguments; None where only SlangPy can bind them."""
        return check_arguments(self.target, self.target.require(), self.steps, self.is_backward, args, kwargs)

    def _audit(self, bound: Bound | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse a backward call whose gradient the compiler gets wrong."""
        if not self.is_backward:
            return
        # Other changes say how the call is mapped and run: not what the compiler gets wrong.
        given = [step[1][0] for step in self.steps if step[0] == "constants"]
        lines = [exported(*one) for constants in given for one in constants_of(self.target, constants).items()]
        if bound is not None:
            audit(Call.of(self.target, bound, prelude="\n".join(line for line in lines if line)))
        elif (call := call_to_audit(self, args, kwargs)) is not None:
            audit(call)

    def _node(self, loaded: Loaded, chain: tuple[Step, ...]) -> FunctionNode:
        node: Any = function_node(loaded, self.target.info.name, self.target.info.own)
        for method, args, kwargs in chain:
            if method == "constants":
                args = (constants_of(self.target, *args),)  # again, since the module may declare others now
            node = getattr(node, method)(*args, **kwargs)
        return node.bwds if self.is_backward else node

    def _with(self, method: str, *args: Any, **kwargs: Any) -> Function:
        return Function(self.target, (*self.steps, (method, args, kwargs)), self.is_backward)

    @property
    def session(self) -> Session:
        """The session that it runs on."""
        return self.target.session

    @property
    def bwds(self) -> Function:
        """The backward pass: arguments as in the forward call, and ``_result`` with the gradient to start from."""
        if self._bwds is None:
            self._bwds = Function(self.target, self.steps, True)
        return self._bwds

    def map(self, *args: Any, **kwargs: Any) -> Function:
        """Say which dimensions or types the arguments are mapped to, as in SlangPy."""
        return self._with("map", *args, **kwargs)

    def set(self, *args: Any, **kwargs: Any) -> Function:
        """Set global uniforms of the module for the call, as in SlangPy."""
        return self._with("set", *args, **kwargs)

    def constants(self, constants: dict[str, Any]) -> Function:
        """Set link-time constants, as in SlangPy; other values mean another kernel.

        Raises
        ------
        CallError
            For names that the source does not declare ``extern static const``, and values of other types.
        """
        self.target.require()  # says why there is none
        return self._with("constants", constants_of(self.target, constants))

    def return_type(self, return_type: type | str) -> Function:
        """Say what the result shall be, as in SlangPy: ``"numpy"``, ``"tensor"`` or a class."""
        return self._with("return_type", return_type)

    def call_group_shape(self, shape: Any) -> Function:
        """Say how the call is divided into groups of threads, as in SlangPy."""
        return self._with("call_group_shape", shape)

    @property
    def slangpy(self) -> FunctionNode:
        """SlangPy's own function, without any of the checks."""
        return self._node(self.target.require(), self.steps)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        node = self.slangpy  # append_to, dispatch, prelude, ...: a SlangPy function in all other ways
        if not hasattr(node, name):
            raise AttributeError(no_attribute(self.target.info.name, name, [*dir(type(self)), *dir(node)]))
        return getattr(node, name)

    @property
    def source(self) -> str:
        """The Slang text of the function."""
        return self.target.info.source

    @property
    def info(self) -> FunctionInfo:
        """Parameters, types and differentiability, as data."""
        return self.target.info

    def _renew(self) -> None:
        """Say what the function is now, for ``help``, ``f?`` and tab completion; forget the plans of the old one."""
        info = self.target.info
        self._plans, self._version = {}, self.target.version
        self._recent: Recent | None = None  # what may be called without a look
        self._passed: Recent | None = None  # what passed the checks that are made at every call
        self._own_last: OwnRecent | None = None
        self._doubles: dict[str, Function] = {}  # a generic function with its types, by its name with these
        self._met_library = False  # whether a library's values came before
        self.__name__ = self.__qualname__ = info.name
        self.__doc__ = describe(info, self.target.module)
        self.__signature__ = python_signature(info)

    def __repr__(self) -> str:
        info = self.target.info
        text = " | ".join(str(s) for s in info.overloads) or f"generic {info.name}"
        marks = ["differentiable"] if info.differentiable else []
        name = ".bwds" if self.is_backward else ""
        return f"<slang function{name} {text}{' [differentiable]' if marks else ''}>"


@cache
def tensor_class() -> type:
    """Give SlangPy's class of tensors; an import at each call would cost more than the look."""
    import slangpy as spy

    return spy.Tensor
