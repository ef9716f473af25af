"""Remedies for what the compiler says about syntax, files and names."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from slangnb.compiler.advice.case import Case
from slangnb.compiler.advice.loops import functions
from slangnb.compiler.advice.names import close, remedy_for_name, special_name
from slangnb.compiler.advice.vocabulary import BUILTINS
from slangnb.compiler.reading.scan import Positions
from slangnb.errors import Diagnostic

_DIRECTIVES = (
    "define",
    "undef",
    "include",
    "ifdef",
    "ifndef",
    "elif",
    "else",
    "endif",
    "pragma",
    "error",
    "warning",
)
_ATTRIBUTES = (
    *(
        "Differentiable",
        "MaxIters",
        "ForceUnroll",
        "BackwardDerivative",
        "ForwardDerivative",
        "PreferRecompute",
    ),
    *("BackwardDerivativeOf", "ForwardDerivativeOf", "PrimalSubstitute", "TreatAsDifferentiable", "mutating"),
    *("numthreads", "shader", "unroll", "loop", "branch", "flatten", "noinline", "ForceInline"),
)
#: `from a import b`, `a if c else b`, `f(x: float)` without `func`, and `float f(float x): return x`.
_FROM = re.compile(r"\s*from\s+([\w.]+)\s+import\b")
_CHOICE = re.compile(r"(?:\breturn|=)\s*([^;{}=]+?)\s+if\s+([^;{}]+?)\s+else\s+([^;{}]+)")
_TYPE_BEHIND = re.compile(r"\s*(?:fn\s+)?\w+\s*\(\s*\w+\s*:")
_FN = re.compile(r"^(?:fn\s+)?")
_COLON_BODY = re.compile(r"\s*[\w<>, ]+\s\w+\s*\([^()]*\)\s*:\s*(?:return\b.*)?$")
#: What a statement starts with.
_STATEMENT = re.compile(r"return|if|for|while|do|switch|break|continue|var|let|(?:float|u?int|half|double|bool)\w*")
_WORDS = {"and": "&&", "or": "||", "not": "!", "is": "=="}


def undefined(case: Case, match: re.Match[str]) -> str:
    """E30015."""
    name = match.group("name")
    if re.search(rf"\w\s*&\s*{re.escape(name)}\b\s*[,)]", case.code):
        return f"Slang has no references: write `inout` before the type of `{name}`, without the `&`"
    enum = next((d for d in case.declared() if d.kind == "enum" and any(c.name == name for c in d.children)), None)
    if enum:
        return f"write `{enum.name}.{name}`"
    untyped = _untyped_parameter(case, name)
    return untyped or remedy_for_name(name, case.after, case.text, case.known, case.offset)


def _untyped_parameter(case: Case, name: str) -> str:
    """Say what to write for ``y`` of ``(float x, y)``: a name alone is taken for a type."""
    for function in functions(case.declared()):
        if function.span[0] <= case.offset < function.body[0] and not special_name(name, case.after):
            for before, parameter in itertools.pairwise(function.parameters):
                if before.name and not parameter.name and parameter.type == name and name[0].islower():
                    return f"write its type: `{before.type} {name}`"
    return ""


def python_syntax(case: Case, _: re.Match[str]) -> str:
    """E2xxxx on a line that is Python."""
    line, before = case.diagnostic.source, case.before.rstrip()
    above = case.source.line(case.diagnostic.line - 1) if case.source else ""
    if any(re.match(r"\s*def\s+\w+\s*\(", text) for text in (line, above)):
        return "write the types and braces: `float f(float x) { return x * x; }` instead of `def f(x):`"
    if named := next((m for text in (line, above) if (m := _FROM.match(text))), None):
        return f"write `import {named.group(1)};`"
    if choice := _CHOICE.search(line):
        return f"write `{choice.group(2)} ? {choice.group(1)} : {choice.group(3).strip()}`"
    if _TYPE_BEHIND.match(line):
        return f"write `{_FN.sub('func ', line.partition('{')[0].strip())}`"
    if any(_COLON_BODY.match(text) for text in (line, above)):
        return "write the body in braces: `float f(float x) { return x; }`"
    if re.search(r"[\w)\]]\s*\*\*\s*[\w(]", line):
        return "write `pow(x, y)` instead of `x ** y`"
    if (word := case.word or "") in _WORDS or (word := (before.split() or [""])[-1]) in _WORDS:
        return f"write `{_WORDS[word]}` instead of `{word}`"
    if re.search(r"\belif\b", line):
        return "write `else if (...)` instead of `elif`"
    if any(re.match(r"\s*@", text) for text in (line, above)):
        return "an attribute stands in brackets: `[Differentiable]`, not `@Differentiable`"
    if re.search(r"\bfor\s*\(?\s*\w+\s+in\b", line):
        return "write `for (int i = 0; i < n; i++)`"
    if re.search(r"\b(?:if|while|else|for)\b.*:\s*", line) and "?" not in line:
        return "write the condition in brackets and the rest in braces: `if (x > 0) { ... }`"
    if re.search(r"\btemplate\s*<", line):
        return "write `T f<T>(T x)` instead of `template<typename T> T f(T x)`"
    if re.search(r"=\s*$", before) and case.word == "[":
        return "write a list in braces: `{1, 2, 3}`"
    return ""


def missing_semicolon(case: Case, _: re.Match[str]) -> Diagnostic | str:
    """E20001, expected ';': point at the end of the line that lacks it, which is mostly one above."""
    source, offset = case.source, case.offset
    if source is None or offset < 0:
        return ""
    code = case.code
    last = len(code[:offset].rstrip()) - 1
    if last < 0:
        return ""
    where = Positions(source.text)
    line, column = where.at(last)
    shown = line + source.first_line - 1
    if shown == case.diagnostic.line or code[last] in ";{,":
        return ""
    if re.match(r"\s*[@#!%]", where.line_text(line)):  # no line of Slang
        return ""
    remedy = "write `;` after the closing brace" if code[last] == "}" else f"write `;` at the end of line {shown}"
    return replace(
        case.diagnostic,
        message="missing ';' at the end of this line.",
        line=shown,
        column=column + 1,
        length=1,
        source=where.line_text(line),
        remedy=remedy,
    )


def unexpected(case: Case, match: re.Match[str]) -> str:
    """Other E20001: say what is missing, as far as one can."""
    found, wanted = match.group("found"), match.group("wanted")
    if case.offset < 0:
        return ""
    if found == "end of file":
        return f"something is not closed: add the missing `{wanted}`"
    if re.search(r"(?:\bclass|\bstruct)\b[^;]*\}", case.before):
        return "write `;` after the closing brace of the struct"
    if wanted in ")," and found in ("'{'", "';'"):
        return f"write `)` before this `{found[1]}`"
    previous = re.search(r"([\w.]+|\S)\s*$", case.before)
    if wanted == ";" and previous:
        if found == "'}'" or _STATEMENT.fullmatch(case.word) or re.match(r"\s*[-+*/]?=(?!=)", case.after):
            return f"write `;` after `{previous.group(1)}`"
        if previous.group(1) in BUILTINS and (whole := re.match(r"\w*(?=\s*[;)])", case.word + case.after)):
            return f"write `{previous.group(1)}({whole.group()})`"
    if wanted == "{":
        return "write the body in braces: `{ ... }`"
    if wanted in ");":
        return f"an operator{', a `,`' if wanted == ')' else ''} or a `{wanted}` is missing before this"
    return ""


def stray_brace(_: Case, __: re.Match[str]) -> str:
    """A `}` with nothing to close."""
    return "delete this `}`, or add the `{` that it should close"


def syntax_error(case: Case, _: re.Match[str]) -> str:
    """E20002: an operand is missing, or a character does not belong here."""
    if case.offset < 0:
        return ""
    if case.word == "#":
        return "start the comment with `//`"
    if case.word == "[":
        return "write a list in braces: `{1, 2, 3}`"
    operator = re.search(r"([-+*/%<>=&|,]+)\s*$", case.before)
    if case.word in (";", ")", ",", "]") and operator:
        return f"write what follows `{operator.group(1)}`, or delete it"
    return f"delete `{case.word}`" if case.word and not case.word.isalnum() else ""


def not_allowed_here(case: Case, match: re.Match[str]) -> str:
    """E30102: mostly the function before was not closed."""
    return "close the function before this one: add the missing `}`" if match.group("what") == "function" else ""


def illegal_character(_: Case, match: re.Match[str]) -> str:
    """E10000."""
    return f"delete the character {match.group('what')}"


def literal_suffix(case: Case, match: re.Match[str]) -> str:
    """E39999, a number with a letter behind it that Slang does not know."""
    suffix = match.group("suffix")
    number = case.word.removesuffix(suffix)
    return f"write `{number}`" + (f", or `{number}l` for a double" if suffix in ("d", "D") else "")


def literal(case: Case, _: re.Match[str]) -> str:
    """E10001 and E10005."""
    return 'write text in double quotes: `"text"`, closed on the same line'


def cannot_open(case: Case, match: re.Match[str]) -> str:
    """E00001 and E15300: another spelling, the name of a cell, or a folder."""
    name = match.group("name").removesuffix(".slang")
    if name == "slangpy":
        return (
            "SlangPy's own Slang files are not found: "
            "add `slangpy.SHADER_PATH` to the include paths, or compile through `sn.session()`"
        )
    if case.diagnostic.code == "E15300":
        return f"put the file beside the notebook, or name its folder: `%%slang -I DIR` with `{name}` in DIR"
    near = close(name, [*filter(str.isidentifier, case.known), "slangpy"])
    if near:
        return f"did you mean `import {near};`?"
    return (
        f"name the cell that has it `%%slang {name}` and run it first; "
        f"for a file {name}.slang, name its folder: `%%slang -I DIR`"
    )


def directive(case: Case, match: re.Match[str]) -> str:
    """E15101."""
    name = match.group("name")
    if name.startswith("NBVAL_"):
        return f"delete this line and give the cell the tag `{name.lower().replace('_', '-')}`"
    near = close(name, _DIRECTIVES)
    return f"did you mean `#{near}`?" if near else "start a comment with `//`; `#` starts a preprocessor line"


def attribute(_: Case, match: re.Match[str]) -> str:
    """E31000: an attribute that is silently without effect."""
    near = close(match.group("name"), _ATTRIBUTES)
    return f"did you mean `[{near}]`?" if near else "it has no effect: delete it"


def redefinition(case: Case, match: re.Match[str]) -> str:
    """E30200 and E30201: where the other one is."""
    first = next((n for n in case.diagnostic.notes if n.line), None)
    same = first is not None and first.file == case.diagnostic.file
    place = f" at line {first.line}" if first and same else f" in {first.file}" if first else ""
    return f"rename one of them, or delete the other `{match.group('name')}`{place}"


def keyword_name(_: Case, match: re.Match[str]) -> str:
    """E20103."""
    return f"give it another name than `{match.group('name')}`"


def unresolved(_: Case, match: re.Match[str]) -> str:
    """E45001."""
    return f"give `{match.group('name')}` a body, or import the module that has one"
