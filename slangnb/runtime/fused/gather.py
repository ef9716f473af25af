"""Sorts the arguments of a call into leaves: one value for each element or one for all, wanted or not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import PLAIN_KINDS, REAL, Parameter, TypeInfo, declare, plain_name
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.checks import check_rank, check_value, retyped, tensor_called
from slangnb.runtime.fused.access import broadcast_shape, broadcasts, check_shared, numbered, with_access
from slangnb.runtime.fused.given import Gathered, Given, GivenTensor
from slangnb.runtime.fused.job import Argument, Leaf, Output, outputs_of
from slangnb.runtime.fused.meaning import meaning
from slangnb.runtime.fused.values import NotFusedError, hold
from slangnb.runtime.tensors import SCALARS, check_device, check_extent

if TYPE_CHECKING:
    import slangpy


def gather(
    bound: Bound,
    wrt: tuple[str, ...] | None,
    tangents: Mapping[str, Any],
    seeds: Mapping[str, Any],
    device: slangpy.Device,
    host_memory: bool,
) -> Gathered:
    """Read all arguments.

    Parameters
    ----------
    bound : Bound
        The call.
    wrt : tuple of str or None
        Names of the arguments whose gradients are wanted; None: all that have a derivative.
    tangents : mapping
        Values by the argument's name that forward mode starts from.
    seeds : mapping
        Values by the output's id that reverse mode starts from; None for an output that does not count.
    device : slangpy.Device
        Where tensors must live.
    host_memory : bool
        Whether kernels take addresses of this process.

    Raises
    ------
    CallError, GradientError
        For arguments that cannot be right.
    NotFusedError
        For calls that only SlangPy can make.
    """
    signature = bound.signature
    slots = {s.parameter.name: s for s in bound.slots}
    arguments, given, tensors = [], [], []
    for p in signature.parameters:
        slot = slots.get(p.name)
        if p.io == "out" and p.name in tangents:
            raise GradientError(
                f"{signature.name}: no tangent for {p.name!r}: it is an output",
                function=signature.name,
                argument=p.name,
            )
        if slot is None:
            if p.io != "out":
                raise NotFusedError(f"{p.name!r} has a default value")
            arguments.append(Argument(p))
            continue
        wanted = _is_wanted(signature.name, p, wrt)
        if p.type.kind == "tensor":
            argument, tensor = _tensor(signature.name, p, slot, wanted, device)
            arguments.append(argument)
            tensors.append(tensor)
            continue
        if p.io == "out":
            raise NotFusedError(f"{p.name!r} is an output that is filled")
        found = _leaves(signature.name, p, p.name, p.type, slot.value, (slot.place,), p.derivable and wanted, device)
        if p.name in tangents:
            found += _tangents(signature.name, p, tangents[p.name], found, device)
        arguments.append(Argument(p))
        given += found
    shape = broadcast_shape(signature.name, given)
    outputs = outputs_of(signature.returns, signature.parameters)
    for o in outputs:
        if seeds.get(o.id) is not None:
            given += _seeds(signature.name, o, seeds[o.id], shape, device)
    given = with_access(numbered(given), shape)
    if host_memory:
        given = [_in_place(g) for g in given]
    check_shared(signature.name, given, shape)
    return Gathered(
        tuple(_filled(a, given) for a in arguments),
        tuple(_seeded(o, given, seeds) for o in outputs),
        tuple(given),
        tuple(tensors),
        shape,
    )


def _in_place(g: Given) -> Given:
    """Have an array, or a tensor whose elements follow each other, read by its address."""
    held, leaf = g.held, g.leaf
    if held.kind == "array":
        return replace(g, leaf=replace(leaf, aligned=held.aligned))
    if not held.in_place or leaf.access == "uniform" or (held.kind == "tensor" and leaf.access != "each"):
        return g
    return replace(g, leaf=replace(leaf, addressed=True, aligned=held.aligned))


def _is_wanted(function: str, p: Parameter, wrt: tuple[str, ...] | None) -> bool:
    """Whether a gradient of this argument is asked for; refuse one that there cannot be."""
    derivable = p.type.carries_gradient or p.derivable
    if wrt is None:
        return derivable and p.io != "out"
    if p.name not in wrt:
        return False
    if p.io == "out":
        raise GradientError(
            f"{function}: no gradient for {p.name!r}: it is an output", function=function, argument=p.name
        )
    if not derivable:
        raise GradientError(
            f"{function}: no gradient for {p.name!r}: it {p.why_not}",
            function=function,
            argument=p.name,
            remedy=_derivable(p),
        )
    return True


def _derivable(p: Parameter) -> str:
    """Say how to declare a parameter so that it has a gradient."""
    t, out = p.type, "leave it out of wrt"
    if p.no_diff:
        return f"{out}, or take `no_diff` away from where it is declared"
    if t.kind == "struct":
        return f"declare it as `struct {t.name} : IDifferentiable`"
    if t.kind == "tensor" and t.access == "read" and t.scalar == "float":
        return f"declare it as `IDiffTensor<{plain_name(t.element)}, {t.dims}> {p.name}`, or {out}"
    if t.kind in PLAIN_KINDS and t.scalar in ("int", "uint"):
        real = declare(replace(t, name=re.sub(r"u?int", "float", t.name), scalar="float"), p.name)
        return f"declare it as `{real}`, or {out}"
    return out


def _leaves(
    function: str,
    p: Parameter,
    name: str,
    t: TypeInfo,
    value: Any,
    route: tuple[int | str, ...],
    wanted: bool,
    device: slangpy.Device,
) -> list[Given]:
    """Read a value, or all fields of a dict; `name` is the argument's, such as ``"p.color"``."""
    if t.kind == "struct" and isinstance(value, dict) and "_type" not in value:
        check_value(function, name, t, value, device, False)
        found = []
        for key, inner in t.fields.items():
            carried = wanted and key in t.carries
            found += _leaves(function, p, f"{name}.{key}", inner, value[key], (*route, key), carried, device)
        return found
    if t.kind not in (*PLAIN_KINDS, "struct"):
        raise NotFusedError(f"{name!r} has type {plain_name(t.name)}")
    if t.kind == "array" and t.scalar not in (*SCALARS, "bool") and isinstance(value, list | tuple):
        raise CallError(
            f"{function}: {name!r} is {plain_name(t.name)}, an array of structs, which transforms do not take",
            function=function,
            argument=name,
            remedy=f"declare each by a name of its own, as in `{t.scalar} first; {t.scalar} second;`",
        )
    if t.kind in PLAIN_KINDS and isinstance(value, bool | int | float | np.generic | np.ndarray):
        check_value(function, name, t, np.ravel(value)[0] if np.size(value) == 1 else value, device, True)
    held = hold(function, name, t, value, device)
    suffix = name[len(p.name) :]
    wanted = wanted and (t.kind == "struct" or t.scalar in REAL)
    leaf = Leaf(name.replace(".", "_"), suffix, t, "each", wanted, held.kind == "array")
    return [Given(leaf, held, route, p.name)]


def _tangents(function: str, p: Parameter, value: Any, primals: list[Given], device: slangpy.Device) -> list[Given]:
    if not p.derivable:
        raise GradientError(
            f"{function}: no tangent for {p.name!r}: it {p.why_not}", function=function, argument=p.name
        )
    t = _derivative_of(p.type)
    if t.kind == "struct" and not isinstance(value, dict):
        raise NotFusedError(f"the tangent of {p.name!r} is no dict")
    with meaning(p.name, "the tangent of {}", "tangent"):
        found = _leaves(function, p, p.name, t, value, (p.name,), False, device)
    shapes = {g.leaf.suffix: g.held.shape for g in primals}
    for g in found:
        own = shapes.get(g.leaf.suffix, shapes.get("", ()))
        if not broadcasts(g.held.shape, own):
            raise CallError(
                f"{function}: the tangent of {p.name!r} has shape {g.shape}, the argument {(*own, *g.leaf.type.shape)}",
                function=function,
                argument=p.name,
            )
    return [replace(g, role="tangent", leaf=replace(g.leaf, id=f"tangent_{g.leaf.id}")) for g in found]


def _derivative_of(t: TypeInfo) -> TypeInfo:
    """A struct with the fields that its derivative has."""
    if t.kind != "struct":
        return t
    return replace(t, fields={n: _derivative_of(t.fields[n]) for n in t.carries})


def _tensor(
    function: str, p: Parameter, slot: Slot, wanted: bool, device: slangpy.Device
) -> tuple[Argument, GivenTensor]:
    """Take a tensor that the function indexes itself."""
    import slangpy as spy

    t, value = p.type, slot.value
    if t.access != "read" or not isinstance(value, spy.Tensor):
        raise NotFusedError(f"{p.name!r} is a {type(value).__name__} for {plain_name(t.name)}")
    check_device(value, device, function, p.name)
    check_extent(value, f"{function}: {p.name!r}")
    check_rank(function, p.name, t, value, exactly=True)
    if value.dtype.full_name != t.element:
        raise CallError(
            f"{function}: {p.name!r} is {tensor_called(value)}, but the parameter is {t.name}",
            function=function,
            argument=p.name,
            remedy=retyped(p.name, t),
        )
    if t.carries_gradient and t.scalar == "double":
        raise GradientError(
            f"{function}: {p.name!r} is {t.name}; SlangPy 0.43 has no gradients of double tensors like this",
            function=function,
            argument=p.name,
            remedy=f"use float, or declare it as Tensor<{plain_name(t.element)}, {t.dims}> to have no gradient of it",
        )
    if wanted and t.scalar != "float":
        raise NotFusedError(f"{p.name!r}: there are float atomics only")
    kind = "DiffTensor" if wanted else "PrimalTensor" if t.carries_gradient else "Tensor"
    if not t.name.startswith("I"):
        kind = t.name.split("<")[0]  # a concrete DiffTensor has a gradient, wanted or not
    bound = f"{kind}<{plain_name(t.element)}, {t.dims}>"
    given = GivenTensor(p.name, t, (slot.place,), kind == "DiffTensor", wanted)
    return Argument(p, tensor=bound), given


def _filled(a: Argument, given: list[Given]) -> Argument:
    """Give an argument its leaves, once it is decided how they are read."""
    if a.tensor:
        return a
    return replace(a, leaves=_leaves_of(a.name, "value", given), tangents=_leaves_of(a.name, "tangent", given))


def _leaves_of(name: str, role: str, given: list[Given]) -> tuple[Leaf, ...]:
    return tuple(g.leaf for g in given if g.role == role and g.argument == name)


def _seeded(o: Output, given: list[Given], seeds: Mapping[str, Any]) -> Output:
    return replace(o, seeds=_leaves_of(o.id, "seed", given), silent=o.id in seeds and seeds[o.id] is None)


def _seeds(function: str, o: Output, value: Any, shape: tuple[int, ...], device: slangpy.Device) -> list[Given]:
    """Read the upstream gradient of an output; it must have the output's shape, or broadcast to it."""
    t = _derivative_of(o.type)
    if t.kind == "struct" and not isinstance(value, dict):
        raise NotFusedError(f"the seed of {o.id} is no dict")
    with meaning(o.id, "the seed" if o.id == "result" else "the seed of {}", "seed"):
        found = _leaves(function, Parameter(o.id, t), o.id, t, value, (o.id,), False, device)
    for g in found:
        if not broadcasts(g.held.shape, shape):
            raise CallError(
                f"{function}: the seed has shape {g.shape}, the result {(*shape, *g.leaf.type.shape)}",
                function=function,
                argument="seed",
            )
    return [replace(g, role="seed", leaf=replace(g.leaf, id=f"seed_{g.leaf.id}")) for g in found]
