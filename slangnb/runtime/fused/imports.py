"""Which modules a kernel imports beside that of the function that it calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reflection import Signature, TypeInfo


def declaring(signature: Signature, texts: Mapping[str, str]) -> list[str]:
    """Name the modules that declare types of a signature: an ``import`` in Slang does not hand on what it imports.

    Parameters
    ----------
    signature : Signature
    texts : mapping of str to str
        Slang source by the name of the module.

    Examples
    --------
    >>> ray = TypeInfo("Ray", "struct")
    >>> declaring(Signature("f", (), ray, False), {"a": "public struct Ray { public float t; }", "b": "struct Box {}"})
    ['a']
    """
    types = _named((signature.returns, *(p.type for p in signature.parameters)))
    words = {word for t in types for word in re.findall(r"\w+", t)}
    return [name for name, text in texts.items() if words and words & _declared(text)]


def _named(types: Iterable[TypeInfo]) -> Iterator[str]:
    for t in types:
        if t.kind not in ("scalar", "vector", "matrix"):
            yield from (t.name, t.element)
        yield from _named(t.fields.values())


def _declared(text: str) -> set[str]:
    return {d.name.rsplit("::", 1)[-1] for d in declarations(text) if d.kind in ("struct", "enum")}
