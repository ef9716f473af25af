"""A function that a transform made, as Python shows it: by name, without an address."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class Made:
    """Calls a function; its repr is the same at every run, so that saved notebooks do not change.

    Examples
    --------
    >>> Made(abs, "absolute value")
    <slang absolute value>
    """

    def __init__(self, call: Callable[..., Any], text: str) -> None:
        self._call, self._text = call, text
        update_wrapper(self, call)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<slang {self._text}>"
