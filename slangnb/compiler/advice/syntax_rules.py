"""Remedies for what the compiler says about syntax, files and names."""

from __future__ import annotations

import re
from dataclasses import replace

from slangnb.compiler.advice.case import Case
from slangnb.compiler.advice.mistakes import COMMENT, DIVIDE, floor_division
from slangnb.compiler.advice.names import close, remedy_for_name, special_name, unknown
from slangnb.compiler.advice.python_rules import PYTHON_IMPORT, PYTHON_MODULES
from slangnb.compiler.advice.vocabulary import BUILTINS, CALLS
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
_OF_LOOPS = ("MaxIters", "ForceUnroll", "unroll", "loop")
_C_HEADER = re.compile(r"(?:c?math|c?std\w+|c?float|iostream|algorithm|vector|cuda\w*|device_\w+)(?:\.h)?")
#: A line of GLSL that Slang has nothing for.
_PRECISION = re.compile(r"\s*precision\s+(?:low|medium|high)p\s+\w+\s*;\s*(?://.*)?")
#: What a statement starts with.
_STATEMENT = re.compile(r"return|if|for|while|do|switch|break|continue|var|let|(?:float|u?int|half|double|bool)\w*")


def undefined(case: Case, match: re.Match[str]) -> str:
    """E30015."""
    name = match.group("name")
    if reference := re.search(rf"(const\s+)?(\w+)\s*&\s*{re.escape(name)}\b\s*[,)]", case.code):
        plain = f"`{reference.group(2)} {name}`"
        return f"Slang has no references: write {plain}" + (
            "" if reference.group(1) else f", or `inout {plain[1:]} to change it"
        )
    enum = next((d for d in case.declared() if d.kind == "enum" and any(c.name == name for c in d.children)), None)
    if enum:
        return f"write `{enum.name}.{name}`"
    if name == "auto" and (header := re.match(r"\s*(\w+\s*\([^;{}]*\))", case.after)):
        return f"write the type of the result: `float {header.group(1)}`"
    if untyped := _untyped_parameter(case, name):
        return untyped
    answer = remedy_for_name(name, case.after, case.text, case.known, case.offset)
    return (_assigned(case, name) or answer) if answer == unknown(name) else answer


def _untyped_parameter(case: Case, name: str) -> str:
    """Say what to write for ``y`` of ``(float x, y)``: a name alone is taken for a type."""
    function = case.around
    if function is None or not name[0].islower() or special_name(name, case.after):
        return ""
    if any(name in names for names in case.known.values()):
        return ""
    kind = "float"
    for parameter in function.parameters:
        if not parameter.name and parameter.type == name:
            return f"write its type: `{kind} {name}`"
        kind = parameter.type if parameter.name else kind
    return ""


def _assigned(case: Case, name: str) -> str:
    """Say how to declare a name that the function assigns a value to."""
    function = case.around
    if function is None:
        return ""
    body = case.code[slice(*function.body)]
    assigned = re.search(rf"(?:^|[;{{}}])\s*{re.escape(name)}\s*=(?!=)\s*([^;{{}}]+);", body)
    if not assigned:
        return ""
    value = " ".join(assigned.group(1).split())
    floats = {p.name for p in function.parameters if p.type == "float"}
    words = re.findall(r"(?<![\w.])[A-Za-z_]\w*", value)
    kind = "float" if all(word in floats or word in CALLS for word in words) else "var"
    return f"write `{kind} {name} = {value};`"


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
    slashes = floor_division(where.line_text(line))
    if column == len(where.line_text(line)[: max(slashes, 0)].rstrip()):
        return replace(
            case.diagnostic,
            message=COMMENT,
            line=shown,
            column=slashes + 1,
            length=2,
            source=where.line_text(line),
            remedy=DIVIDE,
        )
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
    if remedy := _behind_a_type(case):
        return remedy
    if _PRECISION.fullmatch(case.diagnostic.source):
        return "delete this line: Slang has no `precision`"
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


def no_name(case: Case, _: re.Match[str]) -> str:
    """E20001, expected identifier."""
    return _behind_a_type(case)


def _behind_a_type(case: Case) -> str:
    """Say what to write if the braces of a struct end before it in the same line, maybe with a word behind them.

    At the end of a line they need no `;`; within it, Slang takes what follows for the name of a variable.
    """
    code = case.code[: max(case.offset, 0)]
    end = re.search(r"\}(?:[ \t]*\w+)?[ \t]*\Z", code)
    if end is None:
        return ""
    depth = 0
    for at in range(end.start(), -1, -1):
        depth += {"}": 1, "{": -1}.get(code[at], 0)
        if not depth:
            found = re.search(r"\b(struct|class|enum)\b[^;{}()]*\Z", code[:at])
            return f"write `;` after the closing brace of the {found.group(1)}" if found else ""
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
    if case.diagnostic.code == "E15300" and (_C_HEADER.fullmatch(name) or ("<" in case.word and "." not in name)):
        return "delete this line: Slang needs no headers of C; `sin`, `exp` and the like are built in"
    if case.diagnostic.code == "E15300":
        return f"put the file beside the notebook, or name its folder: `%%slang -I DIR` with `{name}` in DIR"
    if name in PYTHON_MODULES:
        return PYTHON_IMPORT
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


def attribute_alone(case: Case, match: re.Match[str]) -> str:
    """E31002: ``[Differentiable];``."""
    if case.offset < 0 or not re.match(r"\w+\s*(?:\([^()]*\)\s*)?\]\s*;", case.code[case.offset :]):
        return ""
    before = "a loop" if match.group("name") in _OF_LOOPS else "what it is about"
    before = "a function" if "Differentiable" in match.group("name") else before
    return f"delete the `;` behind it: `[{match.group('name')}]` stands before {before}"


def redefinition(case: Case, match: re.Match[str]) -> str:
    """E30200 and E30201: where the other one is."""
    first = next((n for n in case.diagnostic.notes if n.line), None)
    same = first is not None and first.file == case.diagnostic.file
    place = f" at line {first.line}" if first and same else f" in {first.file}" if first else ""
    return f"rename one of them, or delete the other `{match.group('name')}`{place}"


def not_public(_: Case, match: re.Match[str]) -> str:
    """E30600."""
    return (
        f"write `public` before `{match.group('name')}`, too: where one declaration of a cell is public, all others "
        "are for that cell alone; Python and other cells do not reach them"
    )


def keyword_name(case: Case, match: re.Match[str]) -> str:
    """E20103."""
    return _behind_a_type(case) or f"give it another name than `{match.group('name')}`"


def unresolved(_: Case, match: re.Match[str]) -> str:
    """E45001."""
    return f"give `{match.group('name')}` a body, or import the module that has one"
