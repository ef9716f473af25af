"""What to write instead of a name that Slang does not know."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

from slangnb.compiler.advice.loops import functions
from slangnb.compiler.advice.vocabulary import (
    BUILTINS,
    CONSTANTS,
    CUDA,
    CUDA_ONLY,
    INSTEAD,
    KEYWORDS,
    PREFIXES,
    SLANGPY_TYPES,
)
from slangnb.compiler.graph import Known
from slangnb.compiler.reading.declarations import Declaration, declarations
from slangnb.compiler.reading.scan import masked
from slangnb.compiler.source import imports

_GLSL_VECTOR = re.compile(r"([ iubd]?)[vV]ec([234])")
_GLSL_MATRIX = re.compile(r"[mM]at([234])(?:x([234]))?")
_CLOSE = 0.65
_VECTOR_TYPES = {"": "float", "i": "int", "u": "uint", "b": "bool", "d": "double"}
_C_FUNCTION = re.compile(
    r"(sin|cos|tan|asin|acos|atan|atan2|exp|exp2|log|log2|log10|pow|sqrt|floor|ceil|fabs|fmod|round|trunc)f"
)
# `type name` before what may follow a new name.
_LOCAL = re.compile(
    r"(?<![\w.])(?!(?:return|else|import|case)\b)[A-Za-z_]\w*+(?:<[^<>;{}]{0,80}>)?"
    r"\s++([A-Za-z_]\w*+)\s*+(?=[=;,)\[(:{])"
)


def remedy_for_name(name: str, after: str, text: str, known: Known, offset: int = -1) -> str:
    """Say what to write instead of an undefined `name`.

    Parameters
    ----------
    name : str
        The name that the compiler does not know.
    after : str
        The source line from behind the name on, to read ``.sin`` of ``np.sin``.
    text : str
        The whole source, for its own names.
    known : mapping of str to names
        What other cells declare, by the name of a cell or the label of what has none.
    offset : int, optional
        Where the name stands in the text.

    Examples
    --------
    >>> remedy_for_name("mix", "(a, b, t)", "", {})
    'write `lerp(a, b, t)`'
    >>> remedy_for_name("np", ".sin(x)", "", {})
    'write `sin` without `np.`'
    >>> remedy_for_name("lenght", "(v)", "", {})
    'did you mean `length`?'
    >>> remedy_for_name("twice", "(x)", "", {"tools": ["twice"]})
    '`twice` is in cell `tools`: write `import tools;` at the top'
    """
    if name in SLANGPY_TYPES and not re.search(r'\bimport\s+"?slangpy\b', text):
        return "write `import slangpy;` at the top of the cell"
    if name in CUDA_ONLY:
        return CUDA
    imported = {i.name.removesuffix(".slang") for i in imports(text) if i.kind == "import"}
    elsewhere = _elsewhere(name, after, known, imported)
    if elsewhere:
        return elsewhere
    # The function around the name cannot be meant: it could not call itself.
    around = _function_around(text, offset)
    own = [n for n in own_names(text) if n != around]
    exact = next((n for n in own if n.lower() == name.lower() and n != name), "")
    if exact:
        return f"did you mean `{exact}`?"
    special = special_name(name, after)
    if special:
        return special
    if _starts_statement(text, offset) and re.match(r"\s+\w", after) and (keyword := close(name, KEYWORDS)):
        return f"did you mean `{keyword}`?"
    reachable = [n for module, names in known.items() if module.removesuffix(".slang") in imported for n in names]
    near = close(name, [*BUILTINS, *own, *reachable])
    if near:
        return f"did you mean `{near}`?"
    for module in filter(str.isidentifier, known):
        if near := close(name, known[module]):
            return f"did you mean `{near}` of cell `{module}`? Write `import {module};` at the top"
    return unknown(name)


def unknown(name: str) -> str:
    """Say what to do about a name that is like no other."""
    return f"declare `{name}`, or import the module that has it"


def _elsewhere(name: str, after: str, known: Known, imported: Collection[str]) -> str:
    """Say how to reach a name that another cell or file has, or that is a cell's."""
    if name in known:
        member = re.match(r"\s*(\.|::)\s*(\w+)", after)
        if name in imported and member:
            return f"write `{member.group(2)}` without `{name}{member.group(1)}`"
        return f"write `import {name};` at the top of the cell"
    homes = [module for module, names in known.items() if name in names]
    if not homes:
        return ""
    home = min(homes, key=lambda module: not module.removesuffix(".slang").isidentifier())
    module = home.removesuffix(".slang")
    if not module.isidentifier():
        return f"`{name}` is in {home}, which has no name: write `%%slang NAME` there, and `import NAME;` here"
    if module in imported:  # the compiler has another reason
        return ""
    return f"`{name}` is in {'cell ' if home == module else ''}`{home}`: write `import {module};` at the top"


def _function_around(text: str, offset: int) -> str:
    found = (f for f in functions(declarations(text)) if f.span[0] <= offset < f.span[1])
    return next((f.name.split("::")[-1] for f in found), "")


def _starts_statement(text: str, offset: int) -> bool:
    return offset >= 0 and masked(text)[:offset].rstrip()[-1:] in ("", ";", "{", "}")


def special_name(name: str, after: str) -> str:
    """Say what to write for a name of another language or library, or "".

    Examples
    --------
    >>> special_name("vec3", "(0)")
    'write `float3`'
    """
    if name in PREFIXES and (member := re.match(r"\s*(?:\.|::)\s*(\w+)", after)):
        inner = member.group(1)
        return special_name(inner, "") or f"write `{inner}` without `{name}{'::' if name in ('std', 'glm') else '.'}`"
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
    """Give the candidate most like `name`, the first of several that are equally so, or "".

    Examples
    --------
    >>> close("normalise", ["length", "normalize"])
    'normalize'
    """
    options = (c for c in candidates if c != name)
    best = max(options, key=lambda c: _alike(c, name), default="")
    return best if _alike(best, name) >= _CLOSE else ""


def _alike(candidate: str, name: str) -> float:
    return difflib.SequenceMatcher(None, candidate, name).ratio()


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
