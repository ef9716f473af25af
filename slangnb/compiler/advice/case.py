"""A diagnostic together with the source around it: what a remedy needs to know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slangnb.compiler.advice.loops import functions
from slangnb.compiler.graph import Known
from slangnb.compiler.reading.declarations import Declaration, declarations
from slangnb.compiler.reading.declared import everything
from slangnb.compiler.reading.scan import masked
from slangnb.compiler.source import Source
from slangnb.errors import Diagnostic


@dataclass(frozen=True, slots=True)
class Case:
    """One diagnostic, its source if it is known, all sources, and what other cells declare.

    Examples
    --------
    >>> source = Source("float f(float x)\\n{\\n    return x + yy;\\n}", "In[3]", 2)
    >>> d = Diagnostic("error", "E30015", "...", "In[3]", 4, 16, 2, "    return x + yy;")
    >>> case = Case(d, (source,), {})
    >>> case.word, case.after, case.source is source
    ('yy', ';', True)
    """

    diagnostic: Diagnostic
    sources: tuple[Source, ...]
    known: Known

    @property
    def source(self) -> Source | None:
        """The source that the diagnostic lies in: of its label, and with its line if several are; the latest."""
        d = self.diagnostic
        same = [s for s in reversed(self.sources) if s.label == d.file and d.line]
        return next((s for s in same if s.line(d.line) == d.source), same[0] if same else None)

    @property
    def text(self) -> str:
        """The source's text, or "" without one."""
        return self.source.text if self.source else ""

    @property
    def code(self) -> str:
        """The source's text with blanks for all that is not code."""
        return masked(self.text)

    @property
    def offset(self) -> int:
        """Where the diagnostic starts in the text, or -1."""
        source, d = self.source, self.diagnostic
        if source is None or not d.line or not d.column:
            return -1
        lines = source.text.split("\n")[: d.line - source.first_line]
        return sum(len(line) + 1 for line in lines) + d.column - 1

    @property
    def word(self) -> str:
        """What the carets stand under."""
        d = self.diagnostic
        return d.source[d.column - 1 : d.column - 1 + d.length] if d.column else ""

    @property
    def before(self) -> str:
        """The line up to the carets."""
        return self.diagnostic.source[: max(0, self.diagnostic.column - 1)]

    @property
    def after(self) -> str:
        """The line from behind the carets."""
        d = self.diagnostic
        return d.source[d.column - 1 + d.length :] if d.column else ""

    @property
    def around(self) -> Declaration | None:
        """The function that the diagnostic lies in, its parameters included."""
        own = functions(declarations(self.text)) if self.offset >= 0 else ()
        return next((f for f in own if f.span[0] <= self.offset < f.span[1]), None)

    def declared(self) -> list[Declaration]:
        """Give what the sources declare; the diagnostic's own source comes first."""
        own = self.source
        rest = [s for s in self.sources if s is not own]
        return [d for s in ([own, *rest] if own else rest) for d in declarations(s.text)]

    def overloads(self, name: str) -> list[Declaration]:
        """Give the functions of that name in the diagnostic's own source, or else in the others."""
        wanted = re.split(r"::|\.", name)[-1]
        own = self.source
        for group in ([own] if own else [], [s for s in self.sources if s is not own]):
            declared = [d for s in group for d in declarations(s.text)]
            found = [f for f in functions(declared) if f.name.split("::")[-1] == wanted]
            if found:
                return found
        return []

    def function(self, name: str) -> Declaration | None:
        """Give the first of `overloads`."""
        return next(iter(self.overloads(name)), None)

    def struct(self, name: str) -> Declaration | None:
        """Give a struct, interface or enum of the sources by its name."""
        plain = name.split("<")[0]
        kinds = ("struct", "interface", "enum")
        return next((d for d in self.declared() if d.kind in kinds and d.name.split("::")[-1] == plain), None)

    def person_line(self, declared: Declaration) -> int:
        """Give the person's line of something declared in the diagnostic's own source, or 0."""
        own = self.source
        if own and declared in everything(declarations(own.text)):
            return declared.line + own.first_line - 1
        return 0


def cases(diagnostics: Iterable[Diagnostic], sources: Mapping[str, Source], known: Known) -> list[Case]:
    """Give a case for each diagnostic."""
    every = tuple(sources.values())
    return [Case(d, every, known) for d in diagnostics]
