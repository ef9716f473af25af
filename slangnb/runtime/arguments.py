"""The kinds of values that a call takes: what of each decides the kernel, and what must be done to it per call.

A kind is an `Adapter` in one registry by Python type. Optional libraries add theirs when first seen; this module
names none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from inspect import getattr_static
from typing import Any

import numpy as np

from slangnb.compiler.reflection import Parameter, plain_name
from slangnb.errors import CallError
from slangnb.runtime.foreign import library_of_type, tracing_remedy
from slangnb.runtime.parameter import Parameter as Shared
from slangnb.runtime.tensors import check_open, fits, tidy

PLAIN = frozenset({bool, int, float, type(None)})
#: What SlangPy asks each value of an unknown type for; it then asks the answer for the same.
_ASKED = ("get_this", "slangpy_signature")


@dataclass(frozen=True, slots=True)
class Adapter:
    """How values of one Python type are passed.

    Attributes
    ----------
    key : callable
        value -> everything that the generated kernel depends on.
    prepare : callable or None
        (value, parameter) -> the value to hand to SlangPy; called at every call. None: as it is.
    """

    key: Callable[[Any], Hashable]
    prepare: Callable[[Any, Parameter | None], Any] | None = None


@cache
def adapters() -> dict[type, Adapter]:
    """Give the registry: Python type -> adapter. Made on first use, since it needs SlangPy's classes."""
    import slangpy as spy
    from slangpy.core.native import get_value_signature

    strides: dict[str, int] = {}

    def tensor_key(t: spy.Tensor) -> Hashable:
        # This runs for each tensor of each call: plain statements, and no attribute read twice.
        signature = get_value_signature(t)
        stride = strides.get(signature)
        if stride is None:
            check_open(t)
            stride = strides[signature] = t.dtype.buffer_layout.stride
        if ((t.offset + t.element_count) * stride > t.storage.size or not t.is_contiguous()) and not fits(t):
            return object()  # like no key before, so that the call is checked, and refused by name
        grad_in, grad_out = t.grad_in, t.grad_out
        if grad_in is None and grad_out is None:
            return signature, t.device
        return signature, t.device, grad_in is not None, grad_out is not None, grad_in is grad_out

    return {
        spy.Tensor: Adapter(tensor_key),
        Shared: Adapter(lambda p: (Shared, p.dtype, p.shape), _prepare_parameter),
        np.ndarray: Adapter(lambda a: (np.ndarray, a.dtype, a.ndim), _prepare_array),
        str: Adapter(lambda s: s),
        dict: Adapter(lambda d: (dict, tuple([(k, key_of(v)) for k, v in d.items()])), _prepare_dict),
        list: Adapter(lambda v: (list, tuple(map(key_of, v))), _prepare_sequence),
        tuple: Adapter(lambda v: (tuple, tuple(map(key_of, v))), _prepare_sequence),
    }


def adapter_of(value: Any) -> Adapter | None:
    """Find the adapter of a value; None for kinds that SlangPy takes as they are."""
    known = adapters()
    found = known.get(type(value))
    if found is None and isinstance(value, np.generic):
        return Adapter(lambda v: (np.generic, v.dtype), lambda v, p: v.item())
    if found is None:
        return next((known[kind] for kind in (np.ndarray, Shared) if isinstance(value, kind)), None)
    return found


@cache
def key_functions() -> dict[type, Callable[[Any], Hashable] | None]:
    """Give the key functions of the common types, None for those whose type says all: what each call looks up."""
    return {**dict.fromkeys(PLAIN), **{t: a.key for t, a in adapters().items()}}


def key_of(value: Any) -> Hashable:
    """Give what the kernel depends on in this value.

    Raises
    ------
    CallError
        For values that SlangPy would follow without an end.
    """
    kind = type(value)
    if kind in PLAIN:
        return kind
    adapter = adapter_of(value)
    if adapter is not None:
        return adapter.key(value)
    if library_of_type(kind) is not None:
        return kind  # its adapter makes the call
    _refuse_endless(value)
    from slangpy.core.native import get_value_signature

    try:
        return kind, get_value_signature(value)
    except (RuntimeError, TypeError, ValueError):
        return kind, ""


def _refuse_endless(value: Any) -> None:
    """Refuse what makes up attributes that nobody gave it: SlangPy would follow them until the process dies."""
    if not any(getattr_static(value, name, None) is None and hasattr(value, name) for name in _ASKED):
        return
    kind = type(value)
    traced = tracing_remedy(kind)
    raise CallError(
        f"a value of type {kind.__module__}.{kind.__qualname__}, which "
        + ("holds no number while a function is traced" if traced else "makes up every attribute that it is asked for"),
        remedy=traced or "pass numbers, numpy arrays, SlangPy or torch tensors, or dicts of them for structs",
    )


def _prepare_array(a: np.ndarray, p: Parameter | None) -> Any:
    if a.ndim == 0 and (p is None or p.io == "in"):
        return a.item()
    if a.dtype == np.int8 and a.size and p is not None:
        raise CallError(
            f"{p.name!r} is an array of int8, which SlangPy 0.43 takes as int",
            argument=p.name,
            remedy=f"pass a tensor: sn.tensor({p.name})",
        )
    return tidy(a)


def _prepare_parameter(value: Shared, p: Parameter | None) -> Any:
    """A number, or a vector; matrices and arrays go as numpy arrays."""
    if not value.shape:
        return value.value
    return _prepare_sequence(value.value.tolist(), p) if len(value.shape) == 1 else tidy(value.value)


def _prepare_dict(d: dict[str, Any], p: Parameter | None) -> dict[str, Any]:
    return {k: prepare(v, None) for k, v in d.items()}


def _prepare_sequence(v: Any, p: Parameter | None) -> Any:
    """A tuple of two to four numbers is a vector, as is a list for a vector parameter; others are left to SlangPy."""
    if 2 <= len(v) <= 4 and all(isinstance(n, int | float | np.number) for n in v):
        numbers = [n.item() if isinstance(n, np.number) else n for n in v]
        if p is not None and p.type.kind == "vector" and p.type.shape == (len(v),):
            return _vector(plain_name(p.type.name), numbers)
        if isinstance(v, tuple):
            return _vector(f"{'int' if all(type(n) is int for n in numbers) else 'float'}{len(v)}", numbers)
    return [prepare(n, None) for n in v] if isinstance(v, list) else v


def _vector(name: str, numbers: list[Any]) -> Any:
    import slangpy as spy

    made = getattr(spy, name, None)  # there is none for double
    return made(*numbers) if made is not None else numbers


def prepare(value: Any, p: Parameter | None) -> Any:
    """Give the value to hand to SlangPy."""
    adapter = adapter_of(value)
    return value if adapter is None or adapter.prepare is None else adapter.prepare(value, p)
