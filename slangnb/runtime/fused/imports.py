"""Which modules a kernel imports beside that of the function that it calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reflection import Signature, TypeInfo


def modules_for(signature: Signature, texts: Mapping[str, str], own: str) -> list[str]:
    """Name the modules that declare types of a signature, then the function's own.

    An ``import`` in Slang does not hand on what it imports.

    Parameters
    ----------
    signature : Signature
    texts : mapping of str to str
        Slang source by the name of the module.
    own : str
        The module of the function.

    Examples
    --------
    >>> ray = TypeInfo("Ray", "struct")
    >>> texts = {"a": "public struct Ray { public float t; }", "b": "struct Box {}", "c": "import a; Ray f() {}"}
    >>> modules_for(Signature("f", (), ray, False), texts, "c")
    ['a', 'c']
    """
    types = _named((signature.returns, *(p.type for p in signature.parameters)))
    words = {word for t in types for word in re.findall(r"\w+", t)}
    return [*(n for n, text in texts.items() if n != own and words and words & _declared(text)), own]


def _named(types: Iterable[TypeInfo]) -> Iterator[str]:
    for t in types:
        if t.kind not in ("scalar", "vector", "matrix"):
            yield from (t.name, t.element)
        yield from _named(t.fields.values())


def _declared(text: str) -> set[str]:
    return {d.name.rsplit("::", 1)[-1] for d in declarations(text) if d.kind in ("struct", "enum")}
