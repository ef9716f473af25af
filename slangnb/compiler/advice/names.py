"""What to write instead of a name that Slang does not know."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

from slangnb.compiler.advice.vocabulary import BUILTINS, CONSTANTS, CUDA, CUDA_ONLY, INSTEAD, PREFIXES, SLANGPY_TYPES
from slangnb.compiler.reading.declarations import Declaration, declarations
from slangnb.compiler.reading.scan import masked

_GLSL_VECTOR = re.compile(r"([ iubd]?)[vV]ec([234])")
_GLSL_MATRIX = re.compile(r"[mM]at([234])(?:x([234]))?")
_VECTOR_TYPES = {"": "float", "i": "int", "u": "uint", "b": "bool", "d": "double"}
_C_FUNCTION = re.compile(
    r"(sin|cos|tan|asin|acos|atan|atan2|exp|exp2|log|log2|log10|pow|sqrt|floor|ceil|fabs|fmod|round|trunc)f"
)
# `type name` before what may follow a new name.
_LOCAL = re.compile(
    r"(?<![\w.])(?!(?:return|else|import|case)\b)[A-Za-z_]\w*+(?:<[^<>;{}]{0,80}>)?"
    r"\s++([A-Za-z_]\w*+)\s*+(?=[=;,)\[(:{])"
)


def remedy_for_name(name: str, after: str, text: str, known: Collection[str]) -> str:
    """Say what to write instead of an undefined `name`.

    Parameters
    ----------
    name : str
        The name that the compiler does not know.
    after : str
        The source line from behind the name on, to read ``.sin`` of ``np.sin``.
    text : str
        The whole source, for its own names.
    known : collection of str
        Names of other cells and modules, and what they declare.

    Examples
    --------
    >>> remedy_for_name("mix", "(a, b, t)", "", ())
    'write `lerp(a, b, t)`'
    >>> remedy_for_name("np", ".sin(x)", "", ())
    'write `sin` without `np.`'
    >>> remedy_for_name("lenght", "(v)", "", ())
    'did you mean `length`?'
    """
    if name in SLANGPY_TYPES and not re.search(r'\bimport\s+"?slangpy\b', text):
        return "write `import slangpy;` at the top of the cell"
    if name in CUDA_ONLY:
        return CUDA
    if name in known:
        return f"write `import {name};` at the top of the cell"
    own = own_names(text)
    exact = next((n for n in own if n.lower() == name.lower() and n != name), "")
    if exact:
        return f"did you mean `{exact}`?"
    special = _special(name, after)
    if special:
        return special
    near = close(name, [*own, *known]) or close(name, BUILTINS)
    if near:
        return f"did you mean `{near}`?"
    return f"declare `{name}`, or import the module that has it"


def _special(name: str, after: str) -> str:
    if name in PREFIXES and (member := re.match(r"\s*(?:\.|::)\s*(\w+)", after)):
        inner = member.group(1)
        return _special(inner, "") or f"write `{inner}` without `{name}{'::' if name in ('std', 'glm') else '.'}`"
    if name in PREFIXES and name not in INSTEAD:
        return f"`{name}` is no Slang module; Slang's own functions need no prefix"
    if name in CONSTANTS:
        return f"write `static const float {name} = {CONSTANTS[name]};` at the top of the cell"
    if vector := _GLSL_VECTOR.fullmatch(name):
        return f"write `{_VECTOR_TYPES[vector.group(1).strip()]}{vector.group(2)}`"
    if matrix := _GLSL_MATRIX.fullmatch(name):
        columns, rows = matrix.group(1), matrix.group(2) or matrix.group(1)
        return f"write `float{rows}x{columns}`"
    if c_function := _C_FUNCTION.fullmatch(name):
        return f"write `{c_function.group(1)}`"
    return INSTEAD.get(name, "")


def close(name: str, candidates: Iterable[str]) -> str:
    """Give the candidate most like `name`, or "".

    Examples
    --------
    >>> close("normalise", ["length", "normalize"])
    'normalize'
    """
    options = dict.fromkeys(c for c in candidates if c != name)
    found = difflib.get_close_matches(name, options, 1, 0.65)
    return found[0] if found else ""


def own_names(text: str) -> list[str]:
    """Give the names that a source declares: functions, types, members, parameters, locals.

    Examples
    --------
    >>> own_names("float f(float x) { float y = x; return y; }")
    ['f', 'x', 'y']
    """
    names: dict[str, None] = {}

    def add(declared: Iterable[Declaration]) -> None:
        for one in declared:
            names[one.name.split("::")[-1]] = None
            names.update(dict.fromkeys(p.name for p in one.parameters if p.name))
            add(one.children)

    add(declarations(text))
    names.update(dict.fromkeys(m.group(1) for m in _LOCAL.finditer(masked(text))))
    return list(names)
