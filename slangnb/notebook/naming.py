"""Decides which names of a cell become Python names, and what is said about those that meant something before."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

#: Names that IPython puts into every notebook.
_IPYTHONS = frozenset(("In", "Out", "exit", "quit", "get_ipython", "_", "__", "___"))
#: Types that have another name in messages.
_WORDS = {
    "Tensor": "tensor",
    "ndarray": "numpy array",
    "Function": "Slang function",
    "Module": "Slang module",
    "Struct": "Slang struct",
}


def owner(name: str, names: Mapping[str, Any]) -> str:
    """Say whose a name is and stays, or ``""`` when the cell may have it.

    Parameters
    ----------
    name : str
        What a cell defines.
    names : mapping
        The notebook's names and their values.

    Examples
    --------
    >>> owner("max", {}), owner("np", {"np": builtins}), owner("x", {"x": 1.0})
    ("Python's own name", 'the module builtins', '')
    """
    if keyword.iskeyword(name) or hasattr(builtins, name) or name in _IPYTHONS:
        return "Python's own name"
    before = names.get(name)
    return f"the module {before.__name__}" if isinstance(before, ModuleType) else ""


def replaced(name: str, new: Any, names: Mapping[str, Any]) -> str:
    """Say what a name meant before, when that was no Slang code either; ``""`` when nothing is lost.

    Examples
    --------
    >>> replaced("x", print, {"x": 1.0})
    '`x` was a float and is now the Slang function'
    >>> replaced("x", print, {})
    ''
    """
    before = names.get(name)
    if name not in names or isinstance(before, type(new)):
        return ""
    kind = {"Struct": "struct", "Module": "module", "TorchModule": "module"}.get(type(new).__name__, "function")
    return f"`{name}` was {_called(before)} and is now the Slang {kind}"


def _called(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, type):
        return "a class"
    if isinstance(value, FunctionType):
        return "a Python function"
    word = _WORDS.get(type(value).__name__, type(value).__name__)
    return f"{'an' if word[0].lower() in 'aeiou' else 'a'} {word}"
