"""Finds, without compiling, code that compiles and is silently wrong or crashes the compiler later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from slangnb.compiler.advice.division import whole_divisions
from slangnb.compiler.advice.initial import initial
from slangnb.compiler.advice.interfaces import lost_implementations
from slangnb.compiler.advice.local_arrays import large_arrays
from slangnb.compiler.advice.loops import differentiable, functions, inside, loops, most_rounds, rounds
from slangnb.compiler.advice.nests import mixed_up
from slangnb.compiler.advice.powers import power, whole
from slangnb.compiler.advice.prints import unshown
from slangnb.compiler.advice.splats import splats
from slangnb.compiler.advice.tensor_indices import lone_index, vector_index
from slangnb.compiler.advice.uniforms import constant_buffers, ignored_values
from slangnb.compiler.advice.vocabulary import DERIVED
from slangnb.compiler.finding import Advice, finding
from slangnb.compiler.reading.declarations import Declaration, declarations
from slangnb.compiler.reading.declared import Parameter
from slangnb.compiler.reading.scan import Positions
from slangnb.compiler.reading.tokens import Tokens
from slangnb.compiler.source import Source
from slangnb.errors import Diagnostic

SHAPE = re.compile(r"[\w.]+\.shape ?\[[^\]]*\]")
PRINT = 'write `import sgl.device.print;` at the top and `print("x={}", x);` here'
#: How a differentiable function prints.
PRINTING = """write `void say(float v) { print("{}", v); }` above the function, and `no_diff say(x);` in it"""
#: Names of fields that clash with names in the code that SlangPy generates for a struct.
CLASHING_FIELDS = ("value", "context")
_POSITIVE = frozenset(("abs", "fabs", "length", "distance", "exp", "exp2", "sqrt", "saturate", "cosh", "max", "clamp"))
_CONSTANT = re.compile(r"\b(?:static\s+const|const\s+static)\s+\w+\s+(\w+)\s*=")
_SCALAR = re.compile(r"(?:half|float|double|u?int)[234]?")
#: Expressions: something times itself, a constant by its name, what is left of something between 0 and 1.
_ITSELF = re.compile(r"(\w+) ?\* ?\1|dot ?\( ?(.+?) ?, ?\2 ?\)")
_UPPER = re.compile(r"[A-Z][A-Z\d_]*")
_COMPLEMENT = re.compile(r"1(?:\.\d*)?[fFhH]? ?- ?saturate\b[^-]*$")
_NUMBER = re.compile(r"-? ?[\d.]+(?:[eE] ?[-+]? ?\d+)?[fFhHlL]?")


def lint(source: Source) -> tuple[Diagnostic, ...]:
    """Warn of what the compiler accepts and gets wrong.

    Parameters
    ----------
    source : Source
        A normalised source, compiled or not.

    Returns
    -------
    tuple of Diagnostic
        Warnings, each with a place and a remedy, in the order of their places.

    Examples
    --------
    >>> print(lint(Source("void f(float x)\\n{\\n    printf(x);\\n}", "In[3]", 2))[0].render())
    warning: printf prints nothing here.
      --> In[3], line 4
      4 |     printf(x);
        |     ^^^^^^
      remedy: write `import sgl.device.print;` at the top and `print("x={}", x);` here
    """
    tokens, declared, where = Tokens(source.text), declarations(source.text), Positions(source.text)
    rules: tuple[Callable[[Tokens, Sequence[Declaration]], Iterator[Advice]], ...] = (
        _printf,
        unshown,
        vector_index,
        lone_index,
        _loops,
        mixed_up,
        splats,
        _fmod,
        _powers,
        _no_diff,
        _fields,
        whole_divisions,
        ignored_values,
        constant_buffers,
        large_arrays,
        lost_implementations,
    )
    found = [finding(source, where, *one, "warning") for rule in rules for one in rule(tokens, declared)]
    return tuple(sorted(found, key=lambda d: (d.line, d.column)))


def _printf(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    everything = list(functions(declared))
    if any(f.name == "printf" for f in everything):
        return
    derived = [f.body for f in everything if differentiable(f)]
    for k, token in enumerate(tokens.items):
        if token.text == "printf" and tokens.text(k + 1) == "(":
            within = any(start <= token.start < stop for start, stop in derived)
            remedy = f"write `import sgl.device.print;` at the top; {PRINTING}" if within else PRINT
            yield Advice.at(token, "printf prints nothing here.", remedy)


def _loops(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    for function in functions(declared):
        for loop in loops(tokens, inside(tokens, function)):
            most, real = most_rounds(tokens, loop), rounds(tokens, loop)
            if most and real is not None and most[0] < real:
                start = tokens.items[most[1]].start
                yield Advice(
                    start,
                    len(f"MaxIters({most[0]})"),
                    f"the loop makes {real} rounds, more than MaxIters says: its gradient may be wrong.",
                    f"write `[MaxIters({real})]`",
                )
            if not differentiable(function):
                continue
            joint = logical(tokens, *loop.condition)
            if joint:
                offset, better = joint
                yield Advice(
                    offset,
                    2,
                    f"`{tokens.plain[offset : offset + 2]}` in the condition of a differentiable loop "
                    "crashes the compiler when it derives the loop.",
                    f"write `{better}`",
                )
            condition = tokens.words(*loop.condition)
            if shape := SHAPE.search(condition):
                start = tokens.items[loop.condition[0]].start
                within = SHAPE.search(tokens.plain, start)
                yield Advice(
                    within.start() if within else start,
                    len(within.group()) if within else 1,
                    "a differentiable loop whose condition reads a shape hangs the compiler when it derives the loop.",
                    f"write `int n = {shape.group()};` above the loop and compare with `n`",
                )


def logical(tokens: Tokens, start: int, stop: int) -> tuple[int, str] | None:
    """Find ``&&`` or ``||`` in a condition: its offset, and the condition with ``&`` or ``|`` instead.

    Examples
    --------
    >>> tokens = Tokens("i < n && s < 2")
    >>> logical(tokens, 0, len(tokens.items))
    (6, '(i < n) & (s < 2)')
    """
    parts: list[str] = []
    first = start
    found = -1
    for k in range(start, stop - 1):
        token, after = tokens.items[k], tokens.items[k + 1]
        if token.text in "&|" and after.text == token.text and token.end == after.start and k >= first:
            found = token.start if found < 0 else found
            parts += [tokens.words(first, k), token.text]
            first = k + 2
    if found < 0:
        return None
    parts.append(tokens.words(first, stop))
    flat = all(p.count("(") == p.count(")") for p in parts)
    if not flat:  # the parts are nested; only the mark is sure
        return found, tokens.words(start, stop).replace("&&", "&").replace("||", "|")
    return found, " ".join(p if p in ("&", "|") or re.fullmatch(r"[\w.]+|\(.*\)", p) else f"({p})" for p in parts)


def _fmod(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    for function in filter(differentiable, functions(declared)):
        for k in inside(tokens, function):
            if tokens.text(k) != "fmod" or tokens.text(k + 1) != "(":
                continue
            parts = tokens.split(k + 2, min(tokens.partner[k + 1], len(tokens.items)))
            if len(parts) != 2 or _has_no_gradient(tokens, *parts[1], function):
                continue
            a, b = (_operand(tokens.words(*p)) for p in parts)
            yield Advice.at(
                tokens.items[k],
                "the gradient of fmod to its second argument is always 0.",
                f"write `{a} - {b} * no_diff trunc({a} / {b})` if that gradient matters",
            )


def _has_no_gradient(tokens: Tokens, start: int, stop: int, function: Declaration) -> bool:
    """Tell whether an expression is made of numbers, constants and ``no_diff`` parameters alone."""
    own = {p.name: "no_diff" in p.modifiers for p in function.parameters}
    fixed = dict.fromkeys(_CONSTANT.findall(tokens.plain), True) | own
    return all(
        fixed.get(token.text, _SCALAR.fullmatch(token.text) is not None) if token.is_name else token.text not in "[{"
        for token in tokens.items[start:stop]
    )


def _powers(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Warn of ``pow(x, 2)``: its derivative is that of exp(2 log x)."""
    everything = list(functions(declared))
    for function in filter(differentiable, everything) if all(f.name != "pow" for f in everything) else ():
        where = inside(tokens, function)
        known = initial(tokens, where)
        for k in where:
            if tokens.text(k) != "pow" or tokens.text(k + 1) != "(" or tokens.text(k - 2) == "detach":
                continue
            parts = tokens.split(k + 2, min(tokens.partner[k + 1], len(tokens.items)))
            if len(parts) != 2 or not whole(tokens.words(*parts[1])):
                continue
            if _seems_positive(tokens, function, *parts[0], known):
                continue
            base, exponent = (tokens.words(*p) for p in parts)
            yield Advice.at(
                tokens.items[k],
                f"the derivative of `pow({base}, {exponent})` is 0 where the base is negative, "
                "and in forward mode its value is 0 too.",
                f"write `{power(base, exponent)}`",
            )


def _seems_positive(
    tokens: Tokens, function: Declaration, start: int, stop: int, known: Mapping[str, tuple[int, int]]
) -> bool:
    """Tell whether an expression is written so that it is not negative; what it is the audit sees at the call.

    That is: a number, an unsigned or constant name, something times itself, and sums and products with what calls a
    function that is not negative; of differences ``1 - saturate(x)`` alone. A local variable is what it was set to.
    """
    if stop - start == 1 and tokens.text(start) in known:
        others = {name: place for name, place in known.items() if name != tokens.text(start)}
        return _seems_positive(tokens, function, *known[tokens.text(start)], others)
    words = tokens.words(start, stop)
    if tokens.text(stop - 2) == "-" and tokens.text(stop - 1) in known:
        words = f"{tokens.words(start, stop - 1)} {tokens.words(*known[tokens.text(stop - 1)])}"
    if any(pattern.fullmatch(words) for pattern in (_NUMBER, _ITSELF, _UPPER)):
        return True
    if "-" in words:
        whole_call = tokens.text(start) in _POSITIVE and tokens.partner.get(start + 1) == stop - 1
        return whole_call or _COMPLEMENT.match(words) is not None
    unsigned = {p.name for p in function.parameters if p.type.startswith("uint")}
    names = {tokens.text(k) for k in range(start, stop)}
    return bool(names & _POSITIVE) or names <= unsigned


def _no_diff(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Warn of ``no_diff`` before calls and variables that have a derivative: it does not take that away."""
    everything = list(functions(declared))
    derived = {f.name.split("::")[-1] for f in everything if differentiable(f)}
    derived |= DERIVED - {f.name for f in everything}
    stopping = {f.name.split("::")[-1] for f in everything if any(_stops(p) for p in f.parameters)}
    for function in filter(differentiable, everything):
        for k in inside(tokens, function):
            if tokens.text(k) != "no_diff":
                continue
            first = k + 1
            while tokens.text(first) == "(":
                first += 1
            last = first
            while tokens.text(last + 1) in (".", "::"):
                last += 2
            name, opening = tokens.text(last), last + 1
            if tokens.text(opening) == "(" and name in derived:
                if name in stopping or _stops_by_itself(tokens, function, opening):
                    continue
                call = tokens.words(first, min(tokens.partner[opening] + 1, len(tokens.items)))
                what, remedy = f"the gradient of `{call}`", f"write `detach({call})`"
            elif last == k + 1 and re.fullmatch(r"[A-Za-z_]\w*", tokens.text(opening)):
                variable = tokens.text(opening)
                what, remedy = (
                    f"the gradient of the variable `{variable}`",
                    f"write `detach(...)` around what `{variable}` is",
                )
            else:
                continue
            message = f"`no_diff` does not stop {what}: it lets a function be called that has none."
            yield Advice.at(tokens.items[k], message, remedy)


def _stops_by_itself(tokens: Tokens, function: Declaration, opening: int) -> bool:
    """Tell whether a call has no gradient that could be stopped: of constants, or of what is detached already."""
    close = min(tokens.partner[opening], len(tokens.items))
    if any(tokens.text(k) == "detach" for k in range(opening, close)):
        return True
    return all(_has_no_gradient(tokens, *part, function) for part in tokens.split(opening + 1, close))


def _stops(parameter: Parameter) -> bool:
    """Tell whether a parameter takes a number without its gradient."""
    return "no_diff" in parameter.modifiers or re.match(r"u?int|bool", parameter.type) is not None


def _operand(expression: str) -> str:
    return expression if re.fullmatch(r"[\w.]+(?:\(.*\))?", expression) else f"({expression})"


def _fields(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    used = {p.type for f in declared if f.kind == "function" for p in f.parameters}
    for struct in declared:
        for field in struct.children:
            if struct.kind != "struct" or struct.name not in used:
                continue
            if field.kind == "field" and field.name in CLASHING_FIELDS:
                match = re.compile(rf"\b{field.name}\b").search(tokens.plain, field.span[0])
                yield Advice(
                    match.start() if match else field.span[0],
                    len(field.name),
                    f"a field called `{field.name}` clashes with the code that SlangPy generates for a call.",
                    "give the field another name",
                )
