"""Remembers prepared launches, the last used ones, within a limit of memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from slangnb.runtime.fused.values import DeviceArray, placement
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.structs import layout_of
from slangnb.runtime.tensors import check_open

#: Launches remembered, and the bytes of arguments and buffers that these may keep alive; one is always kept.
MOST_PLANS = 64
MOST_BYTES = 1 << 30


class Plan(Protocol):
    """What can be remembered."""

    @property
    def bytes(self) -> int:
        """About how much memory it keeps alive."""
        ...


P = TypeVar("P", bound=Plan)


class Plans:
    """Prepared launches by the kinds of their arguments. What is forgotten is prepared again, without compiling."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._turn = Lock()

    def get(self, key: Hashable, make: Callable[[], P]) -> P:
        """Give the launch for a key, made now if need be."""
        with self._turn:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
                return found
        made, dropped = make(), []  # it may compile; and what goes may run anything when it ends
        with self._turn:
            self._found[key] = made
            kept = sum(p.bytes for p in self._found.values())
            while len(self._found) > 1 and (len(self._found) > MOST_PLANS or kept > MOST_BYTES):
                dropped.append(self._found.popitem(last=False)[1])
                kept -= dropped[-1].bytes
        return made

    def clear(self) -> None:
        """Forget all."""
        with self._turn:
            gone, self._found = self._found, OrderedDict()
        del gone


def kind_of(value: Any) -> Hashable:
    """Give everything about an argument that decides how it is launched: type, shape and layout, not the numbers.

    Examples
    --------
    >>> kind_of(2.0), kind_of(np.zeros((2, 3), np.float32)), kind_of([1, 2, 3])
    (<class 'float'>, ('numpy', '<f4', (2, 3), True, True), (<class 'list'>, 3))
    """
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return kind
    if isinstance(value, np.ndarray):
        return "numpy" if kind is np.ndarray else kind, value.dtype.str, value.shape, *placement(value)
    if kind is Parameter:
        return "parameter", value.dtype, value.shape
    if isinstance(value, dict):
        return tuple([(k, kind_of(v)) for k, v in value.items()])
    if kind is DeviceArray:
        return "array", value.scalar, value.shape, value.strides, value.aligned
    if hasattr(value, "storage"):
        try:
            layout = layout_of(value.dtype)
        except RuntimeError:
            check_open(value)
            raise
        return layout, value.shape.as_tuple(), value.strides.as_tuple(), value.offset, value.device
    if isinstance(value, list | tuple):
        return kind, *_lengths(value)
    return ("parameter", value.dtype, value.shape) if isinstance(value, Parameter) else kind


def _lengths(value: Any) -> tuple[int, ...]:
    """Give the shape of nested lists, judged by their first entries."""
    if isinstance(value, np.ndarray):
        return value.shape
    if not isinstance(value, list | tuple):
        return ()
    return len(value), *(_lengths(value[0]) if value else ())
