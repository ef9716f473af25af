"""Values in dicts, as structs are given: what is inside, and where. A place is a path: of names, then keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

#: The name or the position of an argument, then keys of dicts.
Path = tuple[Any, ...]


def values_in(values: Iterable[Any]) -> Iterator[Any]:
    """Give the values themselves, also those inside dicts."""
    for value in values:
        if isinstance(value, dict):
            yield from values_in(value.values())
        else:
            yield value


def map_leaves(value: Any, one: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Give ``one(path, value)`` in the place of a value, or of each value inside of a dict.

    Examples
    --------
    >>> map_leaves({"p": {"x": 1, "y": 2}, "q": 3}, lambda path, v: 5 if path == ("p", "y") else v)
    {'p': {'x': 1, 'y': 5}, 'q': 3}
    """
    if isinstance(value, dict):
        return {key: map_leaves(inner, one, (*path, key)) for key, inner in value.items()}
    return one(path, value)


def follow(values: Any, path: Path) -> Any:
    """Find the value at a place."""
    if len(path) == 1:  # nearly always, and at every call
        return values[path[0]]
    found: Any = values
    for step in path:
        found = found[step]
    return found


def nested(paths: Iterable[Path], values: Iterable[Any]) -> dict[Any, Any]:
    """Put values at their places, in dicts: so that `follow` finds them.

    Examples
    --------
    >>> nested([("x",), ("p", "k")], [1.0, 2.0])
    {'x': 1.0, 'p': {'k': 2.0}}
    """
    found: dict[Any, Any] = {}
    for path, value in zip(paths, values, strict=True):
        inside = found
        for key in path[:-1]:
            inside = inside.setdefault(key, {})
        inside[path[-1]] = value
    return found
