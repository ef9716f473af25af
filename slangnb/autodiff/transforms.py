"""`value_and_grad` and `grad`: functions of functions, run by one fused kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slangnb.autodiff.assemble import Assembler
from slangnb.autodiff.callee import Callee, check_function, check_names, find, warn_of_plain_structs
from slangnb.autodiff.fallback import value_and_grad_by_slangpy
from slangnb.autodiff.naming import as_names, names_first, wrt_text
from slangnb.errors import CallError, GradientError
from slangnb.runtime.foreign import HostArguments, host, library_of
from slangnb.runtime.function import Function
from slangnb.runtime.fused.audit import MOST_REMEMBERED, NEVER, audit
from slangnb.runtime.fused.audit_values import whole_in
from slangnb.runtime.fused.engine import Call, Wish
from slangnb.runtime.fused.job import derivative_components, outputs_of
from slangnb.runtime.fused.launch import NOTHING, Prepared
from slangnb.runtime.fused.plans import kind_of
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.health import look
from slangnb.runtime.teaching import teaches


@dataclass(slots=True)
class _Recent:
    """The last call of a transform: one of the same kind needs no look at its arguments."""

    version: int
    positions: int
    names: tuple[str, ...]
    kinds: tuple[Any, ...]
    prepared: Prepared
    assembler: Assembler
    factor: float
    seeds: dict[str, Any]
    name: str
    #: Whole numbers of calls that the audit saw; those calls that it need not see, and those that it did not see.
    known: set[Any]
    spared: int
    skipped: int = 0

    def fits(self, version: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Tell whether a call is of the kind of the last one."""
        if version != self.version or len(args) != self.positions or tuple(kwargs) != self.names:
            return False
        given = (*args, *kwargs.values())
        # A loop, since this is done at every call: `all` of a generator takes twice as long.
        for value, kind in zip(given, self.kinds, strict=True):
            if not _alike(value, kind):
                return False
        return self.spared == NEVER or self._is_spared(given)

    def _is_spared(self, given: tuple[Any, ...]) -> bool:
        if self.skipped >= self.spared or _whole(given) not in self.known:
            return False
        self.skipped += 1
        return True


def _whole(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the whole numbers among arguments, which may decide whether a gradient is right: see `audit`.

    Those of a tensor are looked at when it is another tensor.
    """
    return tuple([None if hasattr(value, "storage") else whole_in(value) for value in given])


def _mark(value: Any) -> Any:
    """Give what a later argument must be to be of the same kind; `_alike` compares."""
    # A tensor keeps its type and shape; a dict, a list or an array can change in place.
    return value if hasattr(value, "storage") else kind_of(value)


def _alike(value: Any, mark: Any) -> bool:
    kind = type(value)
    if kind is float or kind is int:
        return mark is kind
    return value is mark or (not hasattr(value, "storage") and kind_of(value) == mark)


class Transform:
    """A function made by `value_and_grad` or `grad`; call it with the arguments of the Slang function."""

    def __init__(
        self,
        function: Function,
        wrt: str | Sequence[str] | None,
        reduce: str,
        seed: Any,
        value: bool,
        name: str,
        audited: bool = True,
        tune: bool = False,
    ) -> None:
        self.function = check_function(function, name)
        self.names = as_names(wrt, function, name)
        if reduce not in ("sum", "mean"):
            raise CallError(
                f"{name}: reduce must be 'sum' or 'mean', not {reduce!r}",
                remedy="write reduce='mean', or leave it out for the sum; several names go into one wrt=('a', 'x')",
            )
        self.single = isinstance(wrt, str)
        self.reduce, self.seed, self.value, self.name = reduce, host(seed), value, name
        self.audited, self.tune = audited, tune
        self._seed_is_fixed = seed is None or isinstance(seed, int | float)  # arrays and dicts may change in place
        self._recent: _Recent | None = None
        self._known: tuple[int, set[Any]] = (-1, set())  # the whole numbers that the audit saw of a version

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Give the gradients, or value and gradients, at these arguments."""
        target = self.function.target
        if not target.session.entered:
            target.session.enter()
        recent = self._recent if self._seed_is_fixed else None
        if recent is None or not recent.fits(target.version, args, kwargs):
            library = library_of((*args, *kwargs.values()))
            if library is not None:
                return library.transform(self, args, kwargs)
            callee = find(self.function, args, kwargs, self.name)
            check_names(callee, self.names)
            if self.names is None:
                warn_of_plain_structs(callee, target)
            skipped = recent.skipped if recent is not None else 0
            self._recent = None  # if this one is refused, what is known of its function changed
            try:
                self._recent = recent = self._prepare(callee, args, kwargs, skipped)
            except NotFusedError as reason:
                value, grads = value_and_grad_by_slangpy(
                    self.function, callee, self.names, self.reduce, self.seed, str(reason), self.audited
                )
                return self.give(value, grads)
        values = {**dict(enumerate(args)), **kwargs}
        ran = recent.prepared.run({"value": values, "seed": recent.seeds}, recent.factor)
        look(target, recent.name, recent.prepared, ran)
        value = ran.sums["sn_sum_value"] * recent.factor if self.value else 0.0
        return self.give(value, recent.assembler(ran))

    def __dir__(self) -> list[str]:
        return []  # completion offers nothing: it is called

    def __repr__(self) -> str:
        return f"<slang {self.name} of {self.function.info.name}{wrt_text(self.names)}>"

    def by_host(self, given: HostArguments) -> Any:
        """Call it with another library's values as numpy arrays; the results are made that library's again."""
        found = self(**given.named)
        value, grads = found if self.value else (0.0, found)
        of = given.gradient(self.names[0], grads) if self.single and self.names else given.gradients(grads)
        return (given.value(value), of) if self.value else of

    def give(self, value: Any, grads: dict[str, Any]) -> Any:
        """Give value and gradients as the caller asked for them."""
        found = next(iter(grads.values())) if self.single else grads
        return (value, found) if self.value else found

    def _prepare(self, callee: Callee, args: tuple[Any, ...], kwargs: dict[str, Any], skipped: int) -> _Recent:
        factor, seeds = split_seed(self.seed, callee)
        call = make_call(self.function, callee, seeds=seeds)
        wish = Wish("reverse", self.names, value=self.value)
        if self.tune:
            call.tune(wish)
        prepared = call.prepare(wish)
        if not prepared.gradients and not any(t.given.shown for t in prepared.indexed):
            raise GradientError(
                f"{callee.name}: there is no argument to take a gradient of",
                function=callee.name,
                remedy="declare a parameter float (and not no_diff), or its struct as `struct ... : IDifferentiable`",
            )
        spared = audit(call, skipped) if self.audited else NEVER
        if self.reduce == "mean":
            factor /= prepared.count
        given = (*args, *kwargs.values())
        version, known = self._known
        if version != self.function.target.version or len(known) > MOST_REMEMBERED:
            self._known = self.function.target.version, (known := set())
        known.add(_whole(given))
        return _Recent(
            self.function.target.version,
            len(args),
            tuple(kwargs),
            tuple(map(_mark, given)),
            prepared,
            Assembler(prepared, factor),
            factor,
            seeds,
            callee.name,
            known,
            spared,
        )


def make_call(
    function: Function, callee: Callee, seeds: Mapping[str, Any] = NOTHING, tangents: Mapping[str, Any] = NOTHING
) -> Call:
    """Describe a call for the engine; refuse functions whose results have no derivative."""
    check_outputs(callee)
    return Call.of(function.target, callee.bound, callee.call, callee.prelude, tangents=tangents, seeds=seeds)


def prepare(call: Call, wish: Wish, transform: str) -> Prepared:
    """Prepare a launch for a transform that has no other way.

    Raises
    ------
    GradientError
        For calls that only SlangPy can make.
    """
    try:
        return call.prepare(wish)
    except NotFusedError as reason:
        name = call.bound.signature.name
        raise GradientError(f"{name}: {transform} does not take this call: {reason}", function=name) from None


def check_outputs(callee: Callee) -> None:
    """Refuse a function none of whose results has a derivative."""
    signature = callee.bound.signature
    outputs = outputs_of(signature.returns, signature.parameters)
    tensors = any(p.writes_by_index for p in signature.parameters)
    if not tensors and not any(derivative_components(o.type) and o.type.differentiable for o in outputs):
        what = f"returns {signature.returns.name}, which has no derivative" if outputs else "returns nothing"
        raise GradientError(
            f"{callee.name} {what}",
            function=callee.name,
            remedy="return a float type, or write it to an out parameter or a WDiffTensor",
        )


def split_seed(seed: Any, callee: Callee) -> tuple[float, dict[str, Any]]:
    """Give a seed as a number for all elements, and as values for outputs by name."""
    if seed is None:
        return 1.0, {}
    if isinstance(seed, int | float):
        return float(seed), {}
    if isinstance(seed, str | complex):
        raise CallError(f"the seed is no number: {seed!r}", function=callee.name, argument="seed")
    signature = callee.bound.signature
    ids = [o.id for o in outputs_of(signature.returns, signature.parameters)]
    if isinstance(seed, Mapping) and set(seed) <= set(ids):
        return 1.0, {name: seed.get(name) for name in ids}
    struct = signature.returns.kind == "struct" or any(
        p.io != "in" and p.type.kind == "struct" for p in signature.parameters
    )
    if len(ids) != 1 or (isinstance(seed, Mapping) and not struct):
        raise CallError(f"{callee.name} has the outputs {', '.join(ids)}; give the seed as a dict with these names")
    return 1.0, {ids[0]: seed}


@teaches(names_first("value_and_grad"))
def value_and_grad(
    function: Function,
    wrt: str | Sequence[str] | None = None,
    reduce: str = "sum",
    *,
    seed: Any = None,
    tune: bool = False,
) -> Transform:
    """Make a function that gives the sum of a Slang function over all elements, and its gradients, in one kernel.

    Parameters
    ----------
    function : Function
        A differentiable Slang function. Its parameters may be numbers, vectors, matrices, arrays, structs (given as
        dicts or tensors), and tensors that it indexes itself; ``out`` and ``inout`` parameters count as results.
    wrt : str or sequence of str, optional
        The arguments to take gradients of; by default all that have a derivative.
    reduce : {"sum", "mean"}
        What is made of the values of all elements. A vector, matrix, array or struct result counts with all its
        components.
    seed : array_like, tensor, number or dict, optional
        Weights of the results: the value is the sum of seed times result. Of the result's shape, or one that
        broadcasts to it; a dict by field for structs, by name for several outputs. By default 1.
    tune : bool
        At the first call with arguments of new shapes, measure how many elements a thread takes best, and remember it,
        also for later sessions. It takes some kernels' compile time.

    Returns
    -------
    callable
        Called with the function's arguments it gives ``(value, gradients)``: a float, and a dict by name (or the one
        gradient, when `wrt` is a single name). Each gradient is of the kind that came in: number for number, numpy for
        numpy, SlangPy tensor for tensor, dict for dict. An argument that is repeated over elements, with one value for
        all or broadcast along some dimensions, gets the sum, accurate to about 1e-7 and the same bits at every run.

    Raises
    ------
    CallError, GradientError
        When called with arguments that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float f(float a, float x) { return a * x * x; }")
    >>> value, grads = sn.value_and_grad(m.f, wrt=("a", "x"))(a=2.0, x=np.array([1, 2, 3], np.float32))
    >>> value, grads["a"], grads["x"]
    (28.0, 14.0, array([ 4.,  8., 12.], dtype=float32))
    """
    return Transform(function, wrt, reduce, seed, True, "value_and_grad", tune=tune)


@teaches(names_first("grad"))
def grad(
    function: Function, wrt: str | Sequence[str] | None = None, reduce: str = "sum", *, seed: Any = None
) -> Transform:
    """Make a function that gives the gradients alone; see `value_and_grad`.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float f(float a, float x) { return a * x * x; }")
    >>> sn.grad(m.f, wrt="x")(a=2.0, x=3.0)
    12.0
    """
    return Transform(function, wrt, reduce, seed, False, "grad")
