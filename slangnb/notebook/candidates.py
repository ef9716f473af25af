"""What may be written at a place in a ``%%slang`` cell or on a ``%slang`` line. Knows no shell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from slangnb.compiler.advice.vocabulary import BUILTINS, SLANGPY_TYPES
from slangnb.compiler.lexer import CONSTANTS, CONTEXTUAL, DECLARATIONS, KEYWORDS, SELVES, TYPES
from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.scan import masked
from slangnb.devices.backend import ORDER
from slangnb.notebook.files import folders, importable, slang_files
from slangnb.notebook.members import members
from slangnb.runtime.kernelcode import TARGETS

_NAME = re.compile(r"[A-Za-z_]\w*")
_IMPORT = re.compile(r"\s*(?:(?:public|__exported)\s+)*(?:import|implementing)\s+\w*")
_ATTRIBUTES = re.findall(
    r"\w+",
    """
    Differentiable BackwardDerivative BackwardDerivativeOf ForwardDerivative ForwardDerivativeOf PreferRecompute
    PreferCheckpoint PrimalSubstitute MaxIters ForceUnroll ForceInline mutating require shader numthreads
    TorchEntryPoint CudaKernel AutoPyBindCUDA
    """,
)
_SCALARS = ("bool", "half", "float", "double", "int", "uint")
_SIZES = ("2", "3", "4")


@dataclass(frozen=True, slots=True)
class Known:
    """What a notebook has.

    Attributes
    ----------
    commands : tuple of str
        The words of ``%slang``.
    options : tuple of str
        The options of ``%%slang``.
    functions : tuple of str
        Python names of Slang functions.
    modules : mapping of str to tuple of str
        Named cells and loaded files, and what they define.
    """

    commands: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may replace `typed`, the text before the cursor: words, and what kind each is."""

    typed: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    def fitting(self) -> dict[str, str]:
        """Give the words that begin with what is typed.

        Examples
        --------
        >>> Candidates("sm", {"smoothstep": "function", "sin": "function"}).fitting()
        {'smoothstep': 'function'}
        """
        return {w: kind for w, kind in self.words.items() if w.startswith(self.typed) and w != self.typed}


def candidates(text: str, offset: int, known: Known) -> Candidates:
    """Find what may stand at the cursor.

    Parameters
    ----------
    text : str
        The whole cell.
    offset : int
        Where the cursor is.
    known : Known
        What the notebook has.

    Examples
    --------
    >>> candidates("%slang use so", 13, Known()).fitting()
    {'software': 'option'}
    >>> candidates("%%slang\\nfloat f(float x) { return smooths", 41, Known()).fitting()
    {'smoothstep': 'function'}
    """
    start = len(text) - len(text.lstrip())
    head = text.find("\n", start)
    if text.startswith("%%slang", start) and -1 < head < offset:
        return _in_code(text[head + 1 :], offset - head - 1, known)
    line = text[text.rfind("\n", 0, offset) + 1 : offset].lstrip()
    magic, blank, rest = line.partition(" ")
    *before, typed = rest.split(" ")
    before = [w for w in before if w]
    if magic == "%%slang" and blank:
        return _in_options(typed, before, text[head + 1 :] if head > -1 else "", known)
    if magic == "%slang" and blank:
        return _in_command(typed, before, known)
    return Candidates()


def _in_options(typed: str, before: list[str], code: str, known: Known) -> Candidates:
    last = before[-1] if before else ""
    if last in ("-b", "--backend"):
        return _all(typed, ORDER)
    if last == "--show":
        return _all(typed, TARGETS)
    if last in ("-o", "--only"):
        return _all(typed.rpartition(",")[2], [d.name for d in declarations(code)], "function")
    if last in ("-I", "--include"):
        return _all(typed, folders(typed), "folder")
    if last in ("-D", "--define"):
        return Candidates()
    named = last in ("-n", "--name")
    names = _cells(known) if named or not before else []
    return Candidates(typed, dict.fromkeys(names, "module") | dict.fromkeys(() if named else known.options, "option"))


def _in_command(typed: str, before: list[str], known: Known) -> Candidates:
    if not before:
        return _all(typed, known.commands)
    word = before[0]
    if word == "use":
        return _all(typed, ORDER)
    if word == "load":
        return _all(typed, slang_files(typed), "file")
    if word == "code" and before[-1] == "--target":
        return _all(typed, TARGETS)
    if word == "code" and (len(before) > 1 or typed.startswith("-")):
        return _all(typed, ("--target", "--bwd"))
    return _all(typed, known.functions, "function") if word in ("code", "source") else Candidates()


def _in_code(code: str, offset: int, known: Known) -> Candidates:
    """Find what Slang code may go on with; nothing in comments and strings, and only members behind a dot."""
    before = code[:offset]
    typed = re.split(r"\W", before)[-1]
    start = offset - len(typed)
    plain = masked(before + "_")  # the cursor's own place: blank where no code stands
    if not plain.endswith("_") or typed[:1].isdigit():
        return Candidates()
    declared = declarations(code)
    if _IMPORT.fullmatch(before[before.rfind("\n") + 1 :]):
        return _all(typed, [*_cells(known), "slangpy", *importable()], "module")
    if plain[:start].rstrip().endswith("."):
        return _all(typed, members(plain[:start], declared), "field")
    words = dict.fromkeys(_NAME.findall(masked(_without(code, start))), "variable")
    words |= {name: "function" for names in known.modules.values() for name in names}
    words |= {d.name: "function" if d.kind == "function" else "class" for d in declared if d.name != typed}
    return Candidates(typed, words | language())


def _without(code: str, start: int) -> str:
    """Blank the word that begins at `start`: what is being typed is no name of the cell."""
    word = re.split(r"\W", code[start:], maxsplit=1)[0]
    return code[:start] + " " * len(word) + code[start + len(word) :]


def language() -> dict[str, str]:
    """Give the words of the language and of its library, each with its kind.

    Examples
    --------
    >>> found = language()
    >>> found["float3"], found["return"], found["lerp"], found["Differentiable"]
    ('class', 'keyword', 'function', 'property')
    """
    keywords = [w for w in (*KEYWORDS, *CONTEXTUAL, *DECLARATIONS, *CONSTANTS, *SELVES) if not w.startswith("__")]
    types = [t for t in TYPES if t.isidentifier()]
    types += [s + n for s, n in product(_SCALARS, ("", *_SIZES))]
    types += [f"{s}{r}x{c}" for s, r, c in product(("half", "float", "double"), _SIZES, _SIZES)]
    found = dict.fromkeys(BUILTINS, "function") | dict.fromkeys(_ATTRIBUTES, "property")
    return found | dict.fromkeys(types + sorted(SLANGPY_TYPES), "class") | dict.fromkeys(keywords, "keyword")


def _cells(known: Known) -> list[str]:
    return [name for name in known.modules if name.isidentifier()]


def _all(typed: str, words: Iterable[str], kind: str = "option") -> Candidates:
    return Candidates(typed, dict.fromkeys(words, kind))
