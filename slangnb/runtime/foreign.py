"""Finds the adapter of an optional library whose values are passed to a call; this module names none of them.

`slangnb.interop` says which libraries there are adapters for. An adapter is imported when a value of its library is
first seen: the library itself is then loaded already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from slangnb.errors import CallError

if TYPE_CHECKING:
    from slangnb.runtime.function import Function

HOME = "slangnb.interop"
MASKED = "is a masked array, whose mask would be lost"


class HostArguments(Protocol):
    """The arguments of a call with numpy arrays and numbers in the place of a library's values."""

    @property
    def named(self) -> Mapping[str, Any]:
        """The arguments by the names of their parameters."""
        ...

    def result(self, found: Any) -> Any:
        """Give a result as the library's value."""
        ...

    def value(self, found: float) -> Any:
        """Give a sum over all elements as the library's value."""
        ...

    def gradient(self, name: str, found: Any) -> Any:
        """Give a gradient of an argument as the kind of value that came in."""
        ...

    def gradients(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Give gradients by name as the kinds of values that came in."""
        ...


class Library(Protocol):
    """What an adapter offers."""

    def call(self, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a function, so that the library's own differentiation goes through it."""
        ...

    def transform(self, transform: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a `slangnb.autodiff.transforms.Transform`."""
        ...

    def given(self, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> HostArguments:
        """Read the arguments of a call for a transform."""
        ...

    def host(self, value: Any) -> Any:
        """Give a value, also inside dicts, as a numpy array or number."""
        ...

    def array(self, value: Any) -> np.ndarray:
        """Give a value as a numpy array of its own type."""
        ...


@cache
def library_of_type(kind: type) -> Library | None:
    """Give the adapter for values of a type; None if it belongs to no such library.

    Examples
    --------
    >>> library_of_type(float) is None
    True
    """
    tops = {base.__module__.partition(".")[0] for base in kind.__mro__ if isinstance(base.__module__, str)}
    if tops == {"builtins"}:
        return None
    known: Mapping[str, str] = import_module(HOME).ADAPTERS
    home = next((known[top] for top in tops if top in known), None)
    found: Any = import_module(home) if home is not None else None
    return found if found is not None and found.takes(kind) else None


def tracing_remedy(kind: type) -> str:
    """Say what to write in the place of a value that stands for others while a library traces; empty if it is none."""
    traced: Mapping[str, str] = import_module(HOME).TRACED
    return next((traced[name] for t in kind.__mro__ if (name := f"{t.__module__}.{t.__qualname__}") in traced), "")


def library_of(values: Iterable[Any]) -> Library | None:
    """Give the adapter for the first value of a library, also inside dicts and lists."""
    for value in values:
        if isinstance(value, dict):
            found = library_of(value.values())
        elif isinstance(value, list | tuple):
            found = library_of(value[:1])  # a list of numbers may be long
        else:
            found = library_of_type(type(value))
        if found is not None:
            return found
    return None


def host(value: Any) -> Any:
    """Give a value of a library as numpy arrays and numbers; other values as they are."""
    library = library_of((value,))
    return value if library is None else library.host(value)


def refuse_masked(value: Any, name: str = "the data", fill: str = "pass x.filled(0)") -> None:
    """Refuse numpy's masked arrays: numpy itself drops the mask without a word, and what is hidden counts again."""
    if isinstance(value, np.ma.MaskedArray):
        raise CallError(f"{name} {MASKED}", remedy=fill)


def array(value: Any) -> Any:
    """Give another library's array as a numpy array of the same type; what is none as it is.

    Any object with ``__dlpack__`` counts, if its numbers can be read by the CPU.

    Raises
    ------
    CallError
        If they cannot, or for a masked array.

    Examples
    --------
    >>> array([1.0, 2.0])
    [1.0, 2.0]
    """
    library = library_of_type(type(value))
    if library is not None:
        return library.array(value)
    refuse_masked(value)
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dlpack__"):
        return value
    try:
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise CallError(
            f"numpy cannot read this {type(value).__name__}: {error}", remedy="copy it to the CPU first"
        ) from None
