"""Remedies for Python that stands in a Slang cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from slangnb.compiler.advice.case import Case
from slangnb.compiler.advice.powers import instead
from slangnb.errors import Diagnostic

#: What people import in Python cells.
PYTHON_MODULES = frozenset(
    ("numpy", "torch", "jax", "math", "os", "sys", "random", "time", "scipy", "matplotlib", "slangnb")
)
PYTHON_IMPORT = "this is an import of Python: move it to a Python cell"
#: `from a import b`, `import a as b`, `a if c else b`, `if (c) a else b` as a value, `f(x: float)` without `func`, and
#: `float f(float x): return x`.
_FROM = re.compile(r"\s*from\s+([\w.]+)\s+import\b")
_IMPORT_AS = re.compile(r"\s*import\s+[\w.]+\s+as\b")
_CHOICE = re.compile(r"(?:\breturn|=)\s*([^;{}=]+?)\s+if\s+([^;{}]+?)\s+else\s+([^;{}]+)")
_IF_VALUE = re.compile(r"(?:\breturn|=)\s*if\s*\(([^;{}]+?)\)\s*([^;{}()]+?)\s+else\s+([^;{}]+)")
_FOR_IN = re.compile(r"\bfor\s*\(?\s*\w+\s+in\b")
_TYPE_BEHIND = re.compile(r"\s*(?:fn\s+)?\w+\s*\(\s*\w+\s*:")
_FN = re.compile(r"^(?:fn\s+)?")
_COLON_BODY = re.compile(r"\s*[\w<>, ]+\s\w+\s*\([^()]*\)\s*:\s*(?:return\b.*)?$")
_CALL = re.compile(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?([A-Za-z_][\w.]*)\s*\(.*\)\s*;?\s*")
#: What loses the parser: all that it says of the rest of the function is a consequence.
_BLOCK = re.compile(r"\s*(?:for|if|while|elif|else|def)\b")
#: How the remedy for a call starts; the parser reads the call on into what follows it.
_MOVE = "calls go in a Python cell: "
_WORDS = {"and": "&&", "or": "||", "not": "!", "is": "=="}


def python_syntax(case: Case, _: re.Match[str]) -> str:
    """E2xxxx on a line that is Python."""
    line, before = case.diagnostic.source, case.before.rstrip()
    above = case.source.line(case.diagnostic.line - 1) if case.source else ""
    if any(re.match(r"\s*def\s+\w+\s*\(", text) for text in (line, above)):
        return "write the types and braces: `float f(float x) { return x * x; }` instead of `def f(x):`"
    if imported := _import(line) or _import(above):
        return imported
    if call := _call_below(case):
        return f"{_MOVE}move `{call}` to one below"
    if choice := _CHOICE.search(line):
        return f"write `{choice.group(2)} ? {choice.group(1)} : {choice.group(3).strip()}`"
    if choice := _IF_VALUE.search(line):
        return f"write `{choice.group(1).strip()} ? {choice.group(2)} : {choice.group(3).strip()}`"
    if _FOR_IN.search(line):
        return "write `for (int i = 0; i < n; i++)`"
    if _TYPE_BEHIND.match(line):
        return f"write `{_FN.sub('func ', line.partition('{')[0].strip())}`"
    if any(_COLON_BODY.match(text) for text in (line, above)):
        return "write the body in braces: `float f(float x) { return x; }`"
    if before and re.search(r"[\w)\]]\s*\*\*\s*[\w(]", line):  # else the line above lacks its `;`
        return instead(line) or "write `pow(x, y)` instead of `x ** y`"
    if (word := case.word or "") in _WORDS or (word := (before.split() or [""])[-1]) in _WORDS:
        return f"write `{_WORDS[word]}` instead of `{word}`"
    if re.search(r"\belif\b", line):
        return "write `else if (...)` instead of `elif`"
    if any(re.match(r"\s*@", text) for text in (line, above)):
        return "an attribute stands in brackets: `[Differentiable]`, not `@Differentiable`"
    if re.search(r"\b(?:if|while|else|for)\b.*:\s*", line) and "?" not in line:
        return "write the condition in brackets and the rest in braces: `if (x > 0) { ... }`"
    if re.search(r"\btemplate\s*<", line):
        return "write `T f<T>(T x)` instead of `template<typename T> T f(T x)`"
    if re.search(r"=\s*$", before) and case.word == "[":
        return "write a list in braces: `{1, 2, 3}`"
    return ""


def _import(line: str) -> str:
    named = _FROM.match(line)
    if _IMPORT_AS.match(line) or (named and named.group(1).partition(".")[0] in PYTHON_MODULES):
        return PYTHON_IMPORT
    return f"write `import {named.group(1)};`" if named else ""


def _call_below(case: Case) -> str:
    """Give the call that stands between functions: on the diagnostic's line, or above if that is at fault."""
    source = case.source
    if source is None:
        return ""
    lines = case.code.split("\n")
    at = case.diagnostic.line
    for number in (at,) if case.before.strip() else (at, at - 1):
        line, before = source.line(number), "\n".join(lines[: max(0, number - source.first_line)])
        outside = all(before.count(a) == before.count(b) for a, b in ("{}", "()"))
        called = _CALL.fullmatch(line) if outside and before.rstrip()[-1:] in ("", ";", "}", ")") else None
        if called and not re.search(rf"#[ \t]*define[ \t]+{re.escape(called.group(1))}\b", case.text):
            return line.strip().rstrip("; ")
    return ""


def without_consequences(answered: Iterable[tuple[Case, Diagnostic, bool]]) -> Iterator[Diagnostic]:
    """Leave out what the parser says only because a line is Python.

    Parameters
    ----------
    answered : iterable of (Case, Diagnostic, bool)
        In the compiler's order; the last tells whether `python_syntax` has answered.
    """
    python: list[tuple[Diagnostic, tuple[int, int]]] = []
    for case, d, is_python in answered:
        around = case.around
        span = around.span if around else (0, 0)
        if d.severity == "error" and any(_follows(d, is_python, span, p, s) for p, s in python):
            continue
        if is_python:
            python.append((d, span))
        yield d


def _follows(d: Diagnostic, is_python: bool, span: tuple[int, int], first: Diagnostic, of: tuple[int, int]) -> bool:
    if d.file != first.file:
        return False
    if re.match(r"\s*(?:from|import)\b", first.source) and d.remedy == first.remedy:
        return True
    if first.remedy.startswith(_MOVE) and (d.remedy == first.remedy or d.message.startswith("unexpected end of file")):
        return True
    lost = _BLOCK.match(first.source) and d.code.startswith("E2") and not is_python and span == of
    return d.line == first.line or bool(lost)
