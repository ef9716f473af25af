"""Products with derivatives: `jvp`, `vjp` and `hvp`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from slangnb.autodiff.assemble import Assembler, results
from slangnb.autodiff.callee import Callee, check_function, check_names, find, warn_of_plain_structs
from slangnb.autodiff.forward_mode import check_forward, refuse_by_text
from slangnb.autodiff.made import Made
from slangnb.autodiff.naming import as_names, names_first, wrt_text
from slangnb.autodiff.transforms import make_call, prepare, split_seed
from slangnb.compiler.reflection import PLAIN_KINDS, Parameter, Signature, declare, plain_name
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.foreign import host, library_of
from slangnb.runtime.function import Function
from slangnb.runtime.fused.access import broadcasts
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Wish
from slangnb.runtime.fused.launch import Prepared
from slangnb.runtime.fused.meaning import meaning
from slangnb.runtime.health import look
from slangnb.runtime.stale import Snapshot, compiled_again, copied
from slangnb.runtime.teaching import teaches


def jvp(function: Function, primals: Mapping[str, Any], tangents: Mapping[str, Any]) -> tuple[Any, Any]:
    """Give a function's result and its directional derivative, by forward mode in one kernel.

    Parameters
    ----------
    function : Function
        A differentiable Slang function.
    primals : mapping
        All arguments by name.
    tangents : mapping
        The direction: for each argument that moves, a value of its shape or one that broadcasts to it. Arguments that
        are not named stay.

    Returns
    -------
    y, dy
        For each element the result, and its derivative in the direction: tensors if a tensor came in, else numpy, or
        floats for a single call. Several outputs come as dicts by name.

    Raises
    ------
    CallError, GradientError
        For arguments that do not fit, and for tangents of what has no derivative.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float f(float a, float x) { return a * x * x; }")
    >>> sn.jvp(m.f, {"a": 2.0, "x": 3.0}, {"x": 1.0})
    (18.0, 12.0)
    """
    function = check_function(function, "jvp")
    if not (isinstance(primals, Mapping) and isinstance(tangents, Mapping)):
        wrong = "arguments" if not isinstance(primals, Mapping) else "tangents"
        raise CallError(
            f"jvp takes the {wrong} as a dict by name",
            function=function.info.name,
            remedy=_how_jvp(function),
        )
    function.session.enter()
    if not tangents:
        raise CallError(
            "jvp needs a tangent for at least one argument", remedy="sn.jvp(f, dict(x=x), dict(x=direction))"
        )
    library = library_of((*primals.values(), *tangents.values()))
    if library is not None:
        given = library.given(function, (), primals)
        y, dy = jvp(function, given.named, host(dict(tangents)))
        return given.result(y), given.result(dy)
    callee = find(function, (), primals, "jvp")
    check_names(callee, tuple(tangents), "the tangents")
    _refuse_tensors(callee, "jvp")
    refuse_by_text(function, callee, "jvp")
    call = make_call(function, callee, tangents=tangents)
    prepared = prepare(call, Wish("tangent", stores=True), "jvp")
    ran = call.run(prepared)
    y = results(prepared, ran.outputs)
    check_forward(call, y, "jvp")
    return y, results(prepared, ran.tangents)


def _how_jvp(function: Function) -> str:
    """Write a call with the function's own names."""
    signature = function.info.signature
    parameters = signature.parameters if signature is not None else ()
    primals = ", ".join(f"{p.name}=..." for p in parameters) or "x=..."
    moving = next((p.name for p in reversed(parameters) if p.derivable), "x")
    return f"sn.jvp({function.info.name}, dict({primals}), dict({moving}=...))"


def vjp(function: Function, /, *args: Any, **kwargs: Any) -> tuple[Any, Callable[..., dict[str, Any]]]:
    """Give a function's result, and a function that pulls gradients of the result back to the arguments.

    Parameters
    ----------
    function : Function
        A differentiable Slang function.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    y, pull
        The result for each element, as of `jvp`; and ``pull(seed=None)``, which takes the gradient of some loss with
        respect to `y` (of `y`'s shape, or one that broadcasts to it; by default 1) and gives the gradients of all
        arguments by name, as `value_and_grad` does. It refuses to run after slangnb saw an argument change.

    Raises
    ------
    CallError, GradientError
        For arguments that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float f(float a, float x) { return a * x * x; }")
    >>> y, pull = sn.vjp(m.f, a=2.0, x=np.array([1, 2], np.float32))
    >>> y, pull(np.array([1, 10], np.float32))["x"]
    (array([2., 8.], dtype=float32), array([ 4., 80.], dtype=float32))
    """
    function = check_function(function, "vjp")
    text = f"pull of {function.info.name}"
    function.session.enter()
    library = library_of((*args, *kwargs.values()))
    if library is not None:
        given = library.given(function, args, kwargs)
        y, own = vjp(function, **given.named)
        return given.result(y), Made(lambda seed=None: given.gradients(own(host(seed))), text)
    callee = _with_copies(find(function, args, kwargs, "vjp"))
    warn_of_plain_structs(callee, function.target)
    forward = make_call(function, callee)
    prepared = prepare(forward, Wish("forward", stores=True), "vjp")
    audit(forward)
    y = results(prepared, forward.run(prepared, read=False).outputs)
    snapshot = Snapshot.of(forward.session.writes, tuple(s.value for s in callee.bound.slots))

    def pull(seed: Any = None) -> dict[str, Any]:
        """Give the gradients of the arguments for a gradient of the result."""
        snapshot.check(forward.session.writes, callee.name)
        if function.target.require() is not forward.loaded:
            raise compiled_again(callee.name)
        factor, seeds = split_seed(host(seed), callee)
        backward = make_call(function, callee, seeds=seeds)
        prepared = backward.prepare(Wish("reverse"))
        ran = backward.run(prepared, factor)
        look(function.target, callee.name, prepared, ran)
        return Assembler(prepared, factor)(ran)

    return y, Made(pull, text)


@teaches(names_first("hvp"))
def hvp(function: Function, wrt: str | Sequence[str] | None = None) -> Callable[..., Any]:
    """Make a function that gives Hessian-vector products of the sum of a function, by reverse over forward mode.

    Parameters
    ----------
    function : Function
        A Slang function that can be differentiated twice, with parameters of plain types or tensors without gradient.
    wrt : str or sequence of str, optional
        The variables of the Hessian; by default all arguments that have a derivative.

    Returns
    -------
    callable
        ``product(..., v=v)`` takes the function's arguments and a direction: an array for a single name, a dict by name
        otherwise (names left out stay). A parameter that is called ``v`` itself goes by position. It gives H v, of the
        kind that came in: one value for a single name, else a dict. The Hessian is that of the sum over all elements,
        so shared arguments couple all of them.

    Raises
    ------
    CallError, GradientError
        When called with arguments that do not fit, or for a function that has no second derivative.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float f(float x, float y) { return x * x * y; }")
    >>> sn.hvp(m.f)(x=3.0, y=5.0, v={"x": 1.0})
    {'x': 10.0, 'y': 6.0}
    """
    function = check_function(function, "hvp")
    names = as_names(wrt, function, "hvp")
    made: dict[tuple[int, tuple[str, ...]], tuple[Signature, Signature, str]] = {}

    def product(*args: Any, v: Any = None, **kwargs: Any) -> Any:
        _refuse_clash(function, len(args))
        return along(v, args, kwargs)

    def along(v: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        function.session.enter()
        library = library_of((*args, *kwargs.values(), v))
        if library is not None:
            given = library.given(function, args, kwargs)
            products = along(host(v), (), given.named)
            return given.gradient(wrt, products) if isinstance(wrt, str) else given.gradients(products)
        callee = find(function, args, kwargs, "hvp")
        check_names(callee, names)
        _refuse_tensors(callee, "hvp")
        refuse_by_text(function, callee, "hvp")
        if v is None:
            raise CallError("hvp needs a direction", remedy="pass v=..., of the shape of what is differentiated")
        directions = {wrt: v} if isinstance(wrt, str) else dict(v) if isinstance(v, Mapping) else None
        if not directions:
            raise CallError("hvp needs the direction v as a dict by name", remedy="v={'x': direction}")
        check_names(callee, tuple(directions), "v")
        key = id(callee.bound.signature), tuple(directions)
        if key not in made:  # the signature is held, since it is known by its identity
            made[key] = callee.bound.signature, *directional(callee, tuple(directions))
        _, signature, text = made[key]
        wrapper = _wrapped(callee, signature, text, directions)
        own = tuple(p.name for p in callee.bound.signature.parameters if p.derivable)
        for name in directions:
            if name not in own:
                p = next(p for p in callee.bound.signature.parameters if p.name == name)
                raise GradientError(f"{callee.name}: no gradient for {name!r}: it {p.why_not}")
        audit(make_call(function, callee))
        check_forward(make_call(function, callee, tangents=directions), None, "hvp")
        call = make_call(function, wrapper)
        with _directions_meant(directions, isinstance(wrt, str)):
            prepared = prepare(call, Wish("reverse", names if names is not None else own), "hvp")
        _check_directions(callee, prepared)
        ran = call.run(prepared)
        found = Assembler(prepared)(ran)
        return found[wrt] if isinstance(wrt, str) else found

    return Made(product, f"hvp of {function.info.name}{wrt_text(names)}")


@contextmanager
def _directions_meant(directions: Mapping[str, Any], single: bool) -> Iterator[None]:
    """Have refusals of a direction name it as it was given."""
    with ExitStack() as stack:
        for name in directions:
            given = "v" if single else f"v[{name!r}]"
            stack.enter_context(meaning(f"sn_d_{name}", given, given))
        yield


def _refuse_clash(function: Function, positions: int) -> None:
    """The name ``v`` is the direction's, so that a parameter of this name goes by position."""
    name, signature = function.info.name, function.info.signature
    parameters = signature.parameters if signature is not None else ()
    if any(p.name == "v" and not p.optional for p in parameters[positions:]):
        names = [p.name for p in parameters]
        by_position = ", ".join(names[: names.index("v") + 1])
        raise CallError(
            f"{name} has a parameter 'v', and v=... is the direction of hvp: the parameter goes by position",
            function=name,
            argument="v",
            remedy=f"sn.hvp({name}, ...)({by_position}, v=direction)",
        )


WRAPPER = "slangnb_directional"


def directional(callee: Callee, names: tuple[str, ...]) -> tuple[Signature, str]:
    """Write the function of which `hvp` takes the gradient: the derivative in a direction.

    Its parameters are the function's, and for each name the direction, which is held fixed.
    """
    signature = callee.bound.signature
    _check_twice(signature)
    parameters = list(signature.parameters)
    declared = [f"{'no_diff ' if p.no_diff else ''}{declare(p.type, p.name)}" for p in parameters]
    passed = []
    for p in parameters:
        pair = p.derivable
        if pair and p.name in names:
            passed.append(f"diffPair({p.name}, sn_d_{p.name})")
        else:
            passed.append(f"diffPair({p.name})" if pair else p.name)
    moved = [Parameter(f"sn_d_{p.name}", p.type, no_diff=True) for p in parameters if p.name in names]
    declared += [f"no_diff {declare(p.type, p.name)}" for p in moved]
    returns = plain_name(signature.returns.name)
    text = (
        f"[Differentiable] {returns} {WRAPPER}({', '.join(declared)})\n"
        f"{{ return fwd_diff({callee.call})({', '.join(passed)}).d; }}"
    )
    return replace(signature, name=signature.name, parameters=(*parameters, *moved)), text


def _wrapped(callee: Callee, signature: Signature, text: str, directions: Mapping[str, Any]) -> Callee:
    extra = [
        Slot(p, directions[p.name.removeprefix("sn_d_")], p.name)
        for p in signature.parameters[len(callee.bound.slots) :]
    ]
    prelude = f"{callee.prelude}\n{text}" if callee.prelude else text
    return Callee(Bound(signature, (*callee.bound.slots, *extra)), WRAPPER, prelude)


def _check_twice(signature: Signature) -> None:
    if signature.returns.kind not in PLAIN_KINDS or any(p.io != "in" for p in signature.parameters):
        raise GradientError(
            f"{signature.name}: hvp takes functions that return a number, vector, matrix or array, without outputs",
            function=signature.name,
        )
    for p in signature.parameters:
        if p.type.kind == "struct" and p.derivable:
            raise GradientError(
                f"{signature.name}: hvp does not take the struct {p.name!r} yet",
                function=signature.name,
                argument=p.name,
                remedy=f"write a function that takes the fields of {p.type.name} as parameters",
            )


def _refuse_tensors(callee: Callee, transform: str) -> None:
    """SlangPy's DiffTensor has a backward derivative only."""
    for p in callee.bound.signature.parameters:
        if p.type.carries_gradient:
            raise GradientError(
                f"{callee.name}: {p.name!r} is a {p.type.name}, whose reads have no forward derivative, so {transform} "
                "cannot go through it",
                function=callee.name,
                argument=p.name,
                remedy="declare it as Tensor<...> if it does not move, or pass its element as an argument",
            )


def _check_directions(callee: Callee, prepared: Prepared) -> None:
    """A direction must have the shape of its argument, or one that broadcasts to it."""
    shapes = {g.argument: g.held.shape for g in prepared.given}
    for name, shape in shapes.items():
        of = name.removeprefix("sn_d_")
        if name != of and not broadcasts(shape, shapes[of]):
            raise CallError(
                f"{callee.name}: the direction of {of!r} has shape {shape}, the argument {shapes[of]}",
                function=callee.name,
                argument=of,
            )


def _with_copies(callee: Callee) -> Callee:
    """Copy the arguments, so that the pull sees the values that the result was made of."""
    slots = tuple(replace(s, value=copied(s.value)) for s in callee.bound.slots)
    return replace(callee, bound=replace(callee.bound, slots=slots))
