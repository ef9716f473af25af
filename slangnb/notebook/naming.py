"""Decides which names of a cell become Python names, and what is said about those that meant something before."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.wording import listed
from slangnb.runtime.function import Function

#: Names that IPython puts into every notebook.
_IPYTHONS = frozenset(("In", "Out", "exit", "quit", "get_ipython", "_", "__", "___"))
#: Those of them that IPython itself works with.
_NEEDED = (_IPYTHONS - {"exit", "quit"}) | {"_ih", "_oh", "_dh"}
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
    if is_fixed(name) or hasattr(builtins, name) or name in _IPYTHONS:
        return "Python's own name"
    before = names.get(name)
    return f"the module {before.__name__}" if isinstance(before, ModuleType) else ""


def is_fixed(name: str) -> bool:
    """Tell whether a name cannot be a function's even on request: Python or IPython would not go on.

    Examples
    --------
    >>> is_fixed("lambda"), is_fixed("get_ipython"), is_fixed("__name__"), is_fixed("max")
    (True, True, True, False)
    """
    return keyword.iskeyword(name) or name in _NEEDED or (name.startswith("__") and name.endswith("__"))


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


def still_there(text: str, names: Mapping[str, Any]) -> str:
    """Say which functions of a cell that does not compile are there from before, or "".

    Parameters
    ----------
    text : str
        The cell.
    names : mapping
        The notebook's names and their values.
    """
    declared = dict.fromkeys(d.name for d in declarations(text) if d.kind == "function")
    kept = [f"`{name}`" for name in declared if isinstance(names.get(name), Function)]
    if not kept:
        return ""
    is_one = "is still the one" if len(kept) == 1 else "are still the ones"
    return f"note: {listed(kept)} {is_one} compiled before"


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
