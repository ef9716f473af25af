"""Reads functions, structs and globals out of Slang text without compiling it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from slangnb.compiler.reading.declared import Declaration, Parameter
from slangnb.compiler.reading.reader import Reader

__all__ = ["Declaration", "Parameter", "declarations"]


@lru_cache(64)  # much asks, of the same few texts: at each compile, and at calls
def declarations(text: str) -> tuple[Declaration, ...]:
    """Find what `text` declares at its top level and in its namespaces, in order.

    Methods that an ``extension`` adds to a struct of the same text become that struct's children. A prototype
    is left out when its definition is there too.

    Parameters
    ----------
    text : str
        Slang code; it may be wrong or cut off.

    Examples
    --------
    >>> text = "/// Line.\\n[Differentiable]\\nfloat f(no_diff int n, float x = 1) { return n * x; }"
    >>> found = declarations(text)
    >>> found[0].name, found[0].doc, found[0].attributes, found[0].line
    ('f', 'Line.', ('Differentiable',), 3)
    >>> found[0].parameters[1]
    Parameter(name='x', type='float', default='1', modifiers=(), attributes=())
    """
    reader = Reader(text)
    found = list(reader.scope(0, len(reader.tokens.items), "", 0))
    extensions: dict[str, tuple[Declaration, ...]] = {}
    for one in found:
        if one.kind == "extension":
            extensions[one.name] = extensions.get(one.name, ()) + one.children
    defined = {(d.name, d.signature) for d in found if d.body != (0, 0)}
    return tuple(
        replace(d, children=d.children + extensions[d.name]) if d.name in extensions else d
        for d in found
        if d.kind != "extension" and (d.kind != "function" or d.body != (0, 0) or (d.name, d.signature) not in defined)
    )
