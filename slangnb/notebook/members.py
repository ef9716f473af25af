"""What may stand behind a dot in Slang code: components, fields, methods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from slangnb.compiler.reading.declared import Declaration

_COMPONENTS, _COLOURS = "xyzw", "rgba"
_VECTOR = re.compile(r"(?:float|half|double|u?int|bool)([234])|vector<[^,]+,\s*([234])>")
_BASE = re.compile(r"([A-Za-z_]\w*)\s*\.\s*$")
_NO_TYPES = frozenset(("return", "else", "in", "out", "inout", "const", "static", "no_diff", "case", "import"))


def members(before: str, declared: Sequence[Declaration]) -> list[str]:
    """Give what the value before the dot has; where its type cannot be told, what any value here has.

    Parameters
    ----------
    before : str
        Code without comments, up to and with the dot.
    declared : sequence of Declaration
        Of the whole cell.

    Examples
    --------
    >>> members("float f(float2 v) { return v.", [])
    ['x', 'y', 'xy', 'r', 'g', 'rg']
    """
    base = _BASE.search(before)
    kind = _type_of(base.group(1), before, declared) if base else ""
    if vector := _VECTOR.fullmatch(kind):
        return swizzles(int(vector.group(1) or vector.group(2)))
    if kind.startswith("DifferentialPair"):
        return ["p", "d"]
    if "Tensor<" in kind:
        return ["shape"]
    types = [d for d in declared if d.kind != "function"]
    meant = [d for d in types if d.name == kind.partition("<")[0]]
    fields = [c.name for d in meant or types for c in d.children]
    return fields if meant or kind else [*fields, *_COMPONENTS]


def swizzles(size: int) -> list[str]:
    """Give the components of a vector, and those that are often taken together.

    Examples
    --------
    >>> swizzles(3)
    ['x', 'y', 'z', 'xy', 'xz', 'yz', 'xyz', 'r', 'g', 'b', 'rgb']
    """
    letters, colours = _COMPONENTS[:size], _COLOURS[:size]
    together = ["".join(c) for n in range(1, size + 1) for c in combinations(letters, n)]
    return [*together, *colours, *dict.fromkeys((colours[:3], colours))]


def _type_of(name: str, before: str, declared: Sequence[Declaration]) -> str:
    """Give the type that a name was last declared with, or ""."""
    found = ""
    for match in re.finditer(
        rf"(?<![\w.])([A-Za-z_]\w*(?:<[^;{{}}()]*?>)?)\s+{name}\b(?!\s*\()(?:\s*=\s*([A-Za-z_]\w*)\s*\()?", before
    ):
        kind, called = match.groups()
        if kind in ("var", "let"):
            made = next((d.type for d in declared if d.kind == "function" and d.name == called), called)
            found = made or ""
        elif kind not in _NO_TYPES:
            found = kind
    return found
