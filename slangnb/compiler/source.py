"""The text of a cell: cleaned, hashed, and wrapped so that the compiler's lines are the person's lines."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from slangnb.compiler.reading.scan import Positions, masked, scan

# Slang takes these for letters (no-break space), or refuses them (form feed).
_SPACES = re.compile("[\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")
_ODD = re.compile(_SPACES.pattern + "|" + _INVISIBLE.pattern)
_IMPORT = re.compile(r"(?<![\w.])import(?!\w)\s*+")
_DOTTED = re.compile(r"[^\W\d]\w*+(?:\s*+\.\s*+[^\W\d]\w*+)*(?=\s*+;|[ \t]*+(?:\n|\Z))")
_AFTER_NAME = re.compile(r"\s*+;|[ \t]*+(?:\n|\Z)")
_INCLUDE = re.compile(r"#[ \t]*+include[ \t]*+\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """A cell, script or file as the person wrote it.

    Attributes
    ----------
    text : str
        The body, after `normalise`.
    label : str
        What people see: ``"In[3]"``, a cell's name, or a file's name.
    first_line : int
        The person's number of the body's first line: 2 below a ``%%slang`` line, else 1.
    defines : tuple of (name, value)
        Preprocessor definitions that stand before the body.
    """

    text: str
    label: str = ""
    first_line: int = 1
    defines: tuple[tuple[str, str], ...] = ()

    def line(self, number: int) -> str:
        """Give a line by the person's number, or "" when there is no such line.

        Examples
        --------
        >>> Source("int a;\\nint b;", first_line=2).line(3)
        'int b;'
        """
        lines = self.text.split("\n")
        index = number - self.first_line
        return lines[index] if 0 <= index < len(lines) else ""


@dataclass(frozen=True, slots=True)
class Import:
    """A module or a file that a text asks for; ``start`` and ``end`` are the offsets of what names it."""

    name: str
    line: int
    start: int
    end: int
    kind: str


def normalise(text: str) -> str:
    """Replace what people paste without seeing it and what the compiler takes for letters.

    Line ends become ``\\n``, a byte order mark at the start goes, exotic spaces in code become plain spaces,
    zero-width characters outside strings go. All else stays byte for byte.

    Examples
    --------
    >>> normalise("float f()\\r\\n{\\u00a0return\\u200b 1; }")
    'float f()\\n{ return 1; }'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if not _ODD.search(text):
        return text
    while True:
        # Again, since a dropped character may join two slashes to a comment.
        clean = "".join(_clean(s.kind, text[s.start : s.end]) for s in scan(text))
        if clean == text:
            return text
        text = clean


def _clean(kind: str, piece: str) -> str:
    if kind == "string":
        return piece
    piece = _INVISIBLE.sub("", piece)
    return piece if kind == "comment" else _SPACES.sub(" ", piece)


def imports(text: str) -> list[Import]:
    """Find the modules and files that `text` imports or includes, in order.

    Parameters
    ----------
    text : str
        Slang code.

    Returns
    -------
    list of Import
        ``name`` as written (``a.b`` stays ``a.b``), ``line`` counted from 1 in `text`, ``start`` and ``end``
        around the name and its quotes, ``kind`` "import" or "include".

    Examples
    --------
    >>> for found in imports('import brdf; // import no;\\n#include "x.h"'):
    ...     print(found)
    Import(name='brdf', line=1, start=7, end=11, kind='import')
    Import(name='x.h', line=2, start=36, end=41, kind='include')
    """
    if "import" not in text and "include" not in text:
        return []
    spans = list(scan(text))
    code = masked(text)
    strings = {s.start: s.end for s in spans if s.kind == "string"}
    where = Positions(text)
    found: list[Import] = []
    for match in _IMPORT.finditer(code):
        # The mask shows a string as spaces, so the name may start anywhere in the blank after `import`.
        opening = text.find('"', match.start(), match.end())
        if opening in strings:
            start, end = opening, strings[opening]
            if _AFTER_NAME.match(code, end):
                name = text[start:end].strip('"')
                found.append(Import(name, where.at(start)[0], start, end, "import"))
        elif named := _DOTTED.match(code, match.end()):
            name = re.sub(r"\s+", "", named.group())
            found.append(Import(name, where.at(named.start())[0], named.start(), named.end(), "import"))
    for before, span in itertools.pairwise(spans):
        quoted = before.kind == "directive" and span.kind == "string"
        if quoted and _INCLUDE.fullmatch(text, before.start, before.end):
            name = text[span.start : span.end].strip('"')
            found.append(Import(name, where.at(span.start)[0], span.start, span.end, "include"))
    return sorted(found, key=lambda i: i.start)


def rewrite_imports(text: str, names: Mapping[str, str]) -> str:
    """Replace imported names by the names under which those modules are compiled; lines stay the same.

    Parameters
    ----------
    text : str
        Slang code.
    names : mapping
        From a name as it is written after ``import`` to the new one. Names that are not in it stay.

    Examples
    --------
    >>> rewrite_imports("import brdf;\\nimport sdf;", {"brdf": "m_0123456789ab"})
    'import m_0123456789ab;\\nimport sdf;'
    """
    pieces: list[str] = []
    position = 0
    for found in imports(text):
        if found.kind == "import" and found.name in names:
            # A name may be spread over lines (`a.\nb`); as many line ends follow the new one.
            lines = text.count("\n", found.start, found.end)
            pieces += [text[position : found.start], names[found.name], "\n" * lines]
            position = found.end
    return "".join([*pieces, text[position:]])


def content_hash(*parts: str) -> str:
    """Give 12 hex digits that depend on all `parts` and on where one ends and the next starts.

    Examples
    --------
    >>> content_hash("ab", "c") == content_hash("a", "bc")
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:12]


def module_text(source: Source, name: str, body: str) -> str:
    """Give the text to compile as module `name`: the defines, a ``#line``, then `body`.

    Parameters
    ----------
    source : Source
        Says the defines and the first line's number.
    name : str
        The compiled name, which the compiler then uses as the file's name in its messages.
    body : str
        The source's text, perhaps with rewritten imports.

    Examples
    --------
    >>> print(module_text(Source("", "In[3]", 2, (("N", "4"),)), "m_0123456789ab", "int n = N;"))
    #define N 4
    #line 2 "m_0123456789ab"
    int n = N;
    """
    defines = "".join(f"#define {key} {value}".rstrip() + "\n" for key, value in source.defines)
    return f'{defines}#line {source.first_line} "{name}"\n{body}'
