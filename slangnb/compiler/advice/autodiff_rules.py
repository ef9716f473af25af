"""Remedies for what the compiler says about derivatives, targets and its own faults."""

from __future__ import annotations

import re
from dataclasses import replace

from slangnb.compiler.advice.case import Case
from slangnb.compiler.advice.crash import LARGE_ARRAY
from slangnb.compiler.advice.lint import SHAPE
from slangnb.compiler.advice.loops import Loop, differentiable, functions, inside, loops, rounds
from slangnb.compiler.advice.vocabulary import BUILTINS, CLASHING_PARAMETERS, CUDA, CUDA_ONLY, DERIVED_INSTEAD
from slangnb.compiler.finding import finding
from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.scan import Positions, masked
from slangnb.compiler.reading.tokens import Tokens
from slangnb.compiler.source import Source, imports
from slangnb.errors import Diagnostic

_SECOND = "for second derivatives use `sn.hvp` in Python, or `fwd_diff` in a [Differentiable] function"
_CUDA_WORDS = re.compile(r"\b(?:" + "|".join(sorted(CUDA_ONLY)) + r")\b")
_ARRAY = re.compile(r"[A-Za-z_]\w*\s*\[\s*(\d{1,9})\s*\]")
_REMAINDER = re.compile(r"[\w)\]]\s*%\s*[\w(.]")
_COUNTER = re.compile(r"(?:\w+ )?(\w+) = (.+)")


def loop_needs_attribute(case: Case, _: re.Match[str]) -> str:
    """E30510: the loop, its ``[MaxIters(n)]``, and a hoisted bound where the condition reads a shape."""
    found = _loop_at(case)
    count = rounds(*found) if found else None
    if count is not None:
        return f"write `[MaxIters({count})]` on the line above this loop"
    text = "write `[MaxIters(64)]` on the line above this loop, with the largest number of rounds for 64"
    if found and (shape := SHAPE.search(found[0].words(*found[1].condition))):
        text += f". Write `int n = {shape.group()};` above it and compare with `n`"
    return text


def _loop_at(case: Case) -> tuple[Tokens, Loop] | None:
    source = case.source
    if source is None:
        return None
    tokens = Tokens(source.text)
    everywhere = range(len(tokens.items))
    found = next((x for x in loops(tokens, everywhere) if x.offset == case.offset), None)
    return (tokens, found) if found else None


def not_differentiable(case: Case, match: re.Match[str]) -> str:
    """``bwd_diff`` over a function without ``[Differentiable]``."""
    name = match.group("name")
    function = case.function(name)
    line = case.person_line(function) if function else 0
    place = f", at line {line}" if line else ""
    if (function and differentiable(function)) or "bwd_diff(bwd_diff" in case.diagnostic.source:
        return _SECOND
    return f"write `[Differentiable]` on the line above `{name}`{place}"


def callee_not_differentiable(case: Case, match: re.Match[str]) -> str:
    """E41022: name the callee, and both ways out."""
    name = match.group("name")
    function = case.function(name)
    line = case.person_line(function) if function else 0
    place = f" (line {line})" if line else ""
    short = name.split(".")[-1]
    # The sources are all cells of the session: a namesake in one that is not imported is not what is called.
    others = {i.name for i in imports(case.text)} - {"slangpy"}
    if short in BUILTINS and (function is None or (not line and not others)):
        instead = f"{DERIVED_INSTEAD[short]}, or " if short in DERIVED_INSTEAD else ""
        return f"Slang's `{short}` has no derivative: write {instead}`no_diff {short}(...)` where none is wanted"
    return (
        f"write `[Differentiable]` on the line above `{short}`{place}, "
        f"or `no_diff {short}(...)` here if its derivative is not wanted"
    )


def lost_in_assignment(case: Case, _: re.Match[str]) -> str:
    """E41031: a field of a struct that is not ``IDifferentiable``."""
    target = re.search(r"(\w+)(?:\.\w+)+\s*$", case.before.rstrip("=+-*/ "))
    plain = [d for d in case.declared() if d.kind == "struct" and "IDifferentiable" not in d.bases]
    for struct in plain:
        if target and re.search(rf"\b{re.escape(struct.name)}\s+{target.group(1)}\b", case.code):
            return (
                f"write `struct {struct.name} : IDifferentiable`, "
                "or `detach(...)` around the right side if no derivative is wanted"
            )
    return "declare the struct on the left as `: IDifferentiable`, or write `detach(...)` around the right side"


def misplaced_no_diff(_: Case, __: re.Match[str]) -> str:
    """E38031."""
    return "write `detach(x)` for a value; `no_diff f(x)` calls a function that has no derivative"


def conformance(_: Case, match: re.Match[str]) -> str:
    """E38029 and diffPair: a struct that does not inherit what it must."""
    name = match.group("name")
    base = match.groupdict().get("base") or "IDifferentiable"
    if name in ("int", "uint", "bool"):
        return f"`{name}` has no derivative: write `float`"
    return f"write `struct {name} : {base}`"


def interface_member_differentiable(case: Case, match: re.Match[str]) -> str:
    """E38105: the member lacks ``[Differentiable]``, as a note says."""
    if any("[Differentiable]" in n.message for n in case.diagnostic.notes):
        return f"write `[Differentiable]` before `{match.group('name')}` in the struct"
    return f"give `{match.group('name')}` the parameters and result that the interface declares"


def custom_derivative(_: Case, match: re.Match[str]) -> str:
    """E31149: say the parameter that the derivative must have."""
    position = int(match.group("position")) + 1
    return f"declare parameter {position} of the derivative function as `{match.group('type')}`"


def unrolling(case: Case, _: re.Match[str]) -> Diagnostic | str:
    """E40020, in Slang's own text if it is a loop over the elements of an array that the backward pass keeps."""
    for source in () if case.source else reversed(case.sources):
        large = max(_ARRAY.finditer(masked(source.text)), key=lambda m: int(m.group(1)), default=None)
        if large and int(large.group(1)) >= LARGE_ARRAY:
            return replace(
                finding(source, Positions(source.text), large.start(), len(large.group()), ""),
                code="E40020",
                message="this array is too large to be kept for the backward pass.",
                remedy="make it smaller, or read and write a tensor",
            )
    return (
        "[ForceUnroll] needs a small number of rounds that is known when compiling: "
        "write `[MaxIters(n)]` instead, n being the largest number of rounds"
    )


def recursion(_: Case, match: re.Match[str]) -> str:
    """E55201."""
    return f"GPU code cannot call itself: write `{match.group('name')}` as a loop"


def missing_return(case: Case, _: re.Match[str]) -> str:
    """E41009 and E41010: a return at the end; with CUDA-only types the message means those."""
    texts = [case.text] if case.source else [s.text for s in case.sources]
    if case.diagnostic.code == "E41009" and any(_CUDA_WORDS.search(t) for t in texts):
        return CUDA
    function = case.function(case.word) if case.word else None
    kind = function.type if function else ""
    value = "0" if kind in ("int", "uint") else "0.0" if kind in ("", "float", "half", "double") else f"{kind}(0)"
    value = "false" if kind == "bool" else value
    return f"add a `return` for the remaining case at the end, such as `return {value};`"


def unavailable(case: Case, _: re.Match[str]) -> str:
    """E36107: which feature, and where it works."""
    uses = (re.search(r"see using of '(\w+)'", n.message) for n in case.diagnostic.notes)
    name = next((u.group(1) for u in uses if u), "")
    if name.startswith("cuda") or name in CUDA_ONLY or _CUDA_WORDS.search(case.text):
        return CUDA
    what = f"`{name}`" if name else "this"
    return f"a kernel cannot use {what}: it belongs to another shader stage or backend"


def capability(_: Case, __: re.Match[str]) -> str:
    """E361xx of other kinds."""
    return "this backend has no such feature: choose another with `%slang use`, or write it without"


def double_tensor(_: Case, __: re.Match[str]) -> str:
    """SlangPy has no differentiable tensors of double."""
    return "gradients need `float` tensors: declare `float`, and pass data of dtype float32"


def _loop_starting(source: Source, pattern: str) -> Diagnostic | None:
    """Point at a loop in a differentiable function whose counter starts at what `pattern` matches."""
    tokens = Tokens(source.text)
    for function in filter(differentiable, functions(declarations(source.text))):
        for loop in loops(tokens, inside(tokens, function)):
            counter = _COUNTER.fullmatch(loop.start)
            if counter and re.fullmatch(pattern, counter.group(2)):
                name, start = counter.groups()
                remedy = (
                    "start the loop at zero: `for (int j = 0; j < n; j++)` with n rounds, "
                    f"and inside it `int {name} = j + ({start});`"
                )
                return finding(source, Positions(source.text), loop.offset, len(loop.keyword), "", remedy)
    return None


def internal_error(case: Case, _: re.Match[str]) -> Diagnostic | str:
    """E99997: point at the differentiable loop that starts below zero, or at a remainder, if there is one."""
    # The message has no place. A start below zero is the known cause; one from a variable is the next guess.
    for suspicious in (r"-.*", r"[A-Za-z_].*"):
        for source in reversed(case.sources):
            found = _loop_starting(source, suspicious)
            if found:
                return replace(found, code="E99997", message=case.diagnostic.message)
    if any(_REMAINDER.search(masked(source.text)) for source in case.sources):
        return "if `%` stands between floats, write `fmod(x, y)` for `x % y`: the compiler cannot derive that"
    return "this is a fault of the Slang compiler: compile parts of the cell alone to find what it trips over"


def second_derivative(case: Case, _: re.Match[str]) -> str:
    """Whatever is said about a line that derives a derivative."""
    nested = re.search(r"(?:bwd_diff|fwd_diff)\s*\(\s*bwd_diff", case.diagnostic.source)
    return f"`bwd_diff` cannot be derived once more: {_SECOND}" if nested else ""


def generated_name(case: Case, _: re.Match[str]) -> str:
    """Errors in generated code: mostly a parameter whose name means something else there."""
    if case.diagnostic.line:
        return ""
    quoted = set(re.findall(r"'(?:_m_|__tmp_)?(\w+)'", case.diagnostic.message)) & CLASHING_PARAMETERS
    for function in functions(case.declared()):
        for parameter in function.parameters:
            name = parameter.name
            if name in quoted or (not quoted and name in CLASHING_PARAMETERS and name != "_result"):
                return f"the parameter `{name}` clashes with the code that SlangPy generates: rename it"
    return ""


def generated_member(case: Case, match: re.Match[str]) -> str:
    """A struct's field that clashes with a name in the code that SlangPy generates."""
    clash = "context" if match.group("type").startswith("ContextND") else "value"
    return f"a struct's field called `{clash}` clashes with the code that SlangPy generates: rename it"
