"""Names the construct that most likely crashed or hung the compiler when it derived a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from slangnb.compiler.advice.lint import PRINTING, SHAPE, logical
from slangnb.compiler.advice.loops import inside, is_unrolled, loops, rounds, statement_end
from slangnb.compiler.advice.splats import SCALAR, meetings
from slangnb.compiler.reading.calls import reached
from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.declared import Declaration, everything
from slangnb.compiler.reading.scan import Positions
from slangnb.compiler.reading.tokens import Tokens
from slangnb.compiler.source import Source

_MANY_ROUNDS = 500
#: An element, a field or a variable.
_PLACE = re.compile(r"\w+(?: ?\. ?\w+| ?\[[^\]]*\])*")
#: Elements of an array that is too much for every thread.
LARGE_ARRAY = 1024


class _Suspect:
    """One function of the source and what its body is made of."""

    def __init__(
        self, source: Source, tokens: Tokens, where: Positions, function: Declaration, declared: list[Declaration]
    ) -> None:
        self.tokens = tokens
        self.function = function
        self.declared = declared
        self.body = inside(tokens, function)
        self._where = where
        self._shift = source.first_line - 1

    def line(self, index: int) -> int:
        """Give the person's line of token `index`."""
        return self.at(self.tokens.items[index].start)

    def at(self, offset: int) -> int:
        """Give the person's line of an offset."""
        return self._where.at(offset)[0] + self._shift

    def calls(self, *names: str) -> Iterator[int]:
        """Yield the indices of tokens that call one of `names`."""
        for k in self.body:
            if self.tokens.text(k) in names and self.tokens.text(k + 1) == "(":
                yield k


def crash_hint(source: Source, function_name: str) -> str:
    """Say what in a function, or in what it calls, is known to crash or hang the compiler's backward pass.

    Parameters
    ----------
    source : Source
        Where the function is.
    function_name : str
        Its name; of a method, the part after the dot is enough.

    Returns
    -------
    str
        One or two sentences with the line and the way out, or "" when nothing known is found.

    Examples
    --------
    >>> text = "[Differentiable] float f(float x, no_diff int n) {\\n  int i = 0;\\n"
    >>> text += "  [MaxIters(9)] while (i < n && x < 9) { i++; }\\n  return x;\\n}"
    >>> crash_hint(Source(text, "In[3]", 2), "f")
    'The loop condition at line 4 uses `&&`: write `(i < n) & (x < 9)`.'
    """
    tokens, where = Tokens(source.text), Positions(source.text)
    called = [r.declaration for r in reached(function_name, [source.text], types=False)]
    declared = list(everything(declarations(source.text)))
    suspects = [_Suspect(source, tokens, where, f, declared) for f in called if f.body != (0, 0)]
    hints: list[str] = []
    rules: tuple[Callable[[_Suspect], Iterator[str]], ...] = (
        _joint_condition,
        _shape_condition,
        _load_in_branch,
        _bare_float,
        _whole_element,
        _derives_again,
        _prints,
        _too_long,
    )
    for rule in rules:
        hints += (hint for suspect in suspects for hint in rule(suspect))
    hints += _nested_forward(suspects)
    return " ".join(dict.fromkeys(hints[:2]))


def _joint_condition(suspect: _Suspect) -> Iterator[str]:
    for loop in loops(suspect.tokens, suspect.body):
        if joint := logical(suspect.tokens, *loop.condition):
            offset, better = joint
            mark = suspect.tokens.plain[offset : offset + 2]
            yield f"The loop condition at line {suspect.at(offset)} uses `{mark}`: write `{better}`."


def _shape_condition(suspect: _Suspect) -> Iterator[str]:
    for loop in loops(suspect.tokens, suspect.body):
        if shape := SHAPE.search(suspect.tokens.words(*loop.condition)):
            yield (
                f"The loop condition at line {suspect.line(loop.condition[0])} reads `{shape.group()}`: "
                f"write `int n = {shape.group()};` above the loop and compare with `n`."
            )


def _load_in_branch(suspect: _Suspect) -> Iterator[str]:
    loaded = {p.name: p.type for p in suspect.function.parameters if re.match(r"I\w*Tensor<", p.type)}
    tokens = suspect.tokens
    end = branch = 0
    for k in suspect.body if loaded else ():
        if tokens.text(k) == "if" and tokens.text(k + 1) == "(":
            branch = k
            if k >= end:  # an inner `if` ends with the outer one
                end = statement_end(tokens, k, suspect.body.stop)
        name = tokens.text(k)
        if k < end and name in loaded and tokens.text(k + 1) in ("[", ".") and tokens.text(k + 2) != "shape":
            interface = loaded[name].split("<")[0]
            yield (
                f"`{name}` is an {interface} and is read inside the `if` at line {suspect.line(branch)}: "
                f"declare it as {interface[1:]}, or read it before the `if`."
            )
            return


def _bare_float(suspect: _Suspect) -> Iterator[str]:
    """A vector meets a float parameter in a branch or loop, or behind one; as a vector of its own it is right."""
    scalars = [p.name for p in suspect.function.parameters if SCALAR.fullmatch(p.type) and "no_diff" not in p.modifiers]
    results = {d.name: d.type for d in suspect.declared if d.kind == "function"}
    branches = list(_branches(suspect))
    met = [(k, kind) for k, kind in meetings(suspect.tokens, suspect.function, results, scalars)]
    where = "inside"
    of = [(k, kind) for k, kind in met if any(k in branch for branch in branches)]
    if not of and branches:
        where, of = "behind", [(k, kind) for k, kind in met if k > branches[0].start]
    found: dict[tuple[str, str], list[int]] = {}
    for k, kind in of:
        found.setdefault((suspect.tokens.text(k), kind), []).append(suspect.line(k))
    for (name, kind), lines in found.items():
        way = f"write `{kind}({name})` for `{name}`"
        if "x" in kind:
            way = f"compute that in a [Differentiable] function of its own, with `{name}` as a parameter"
        places = ", ".join(map(str, dict.fromkeys(lines)))
        yield f"The scalar `{name}` meets a {kind} {where} a branch or loop (line {places}): {way}."


def _branches(suspect: _Suspect) -> Iterator[range]:
    """Yield the token ranges of the branches and loops."""
    tokens, stop = suspect.tokens, suspect.body.stop
    for k in suspect.body:
        word = tokens.text(k)
        if word in ("if", "for", "while", "switch") and tokens.text(k + 1) == "(":
            yield range(tokens.partner[k + 1], statement_end(tokens, k, stop))
        elif word in ("do", "?"):
            yield range(k, statement_end(tokens, k, stop))


def _whole_element(suspect: _Suspect) -> Iterator[str]:
    """A local array of structs with an element that is set field by field, and one that is set as a whole."""
    tokens, body = suspect.tokens, suspect.body
    structs = {
        d.name: [f.name for f in d.children if f.kind == "field"] for d in suspect.declared if d.kind == "struct"
    }
    arrays = {
        tokens.text(k + 1): tokens.text(k) for k in body if tokens.text(k) in structs and tokens.text(k + 2) == "["
    }
    whole: list[tuple[int, int]] = []
    by_field: set[str] = set()
    for k in body:
        if tokens.text(k) not in arrays or tokens.text(k + 1) != "[" or tokens.text(k - 1) not in (";", "{", "}", ")"):
            continue
        end = first = min(tokens.partner[k + 1] + 1, body.stop)
        while tokens.text(end) in (".", "["):
            end = end + 2 if tokens.text(end) == "." else min(tokens.partner[end] + 1, body.stop)
        if end == first and tokens.text(end) == "=":
            whole.append((k, end))
        elif tokens.text(first) == ".":
            by_field.add(tokens.text(k))
    for k, equals in whole:
        if (name := tokens.text(k)) in by_field:
            target, value = tokens.words(k, equals), tokens.words(equals + 1, tokens.find(";", equals, body.stop))
            made = ""
            if not _PLACE.fullmatch(value):
                made, value = f"{arrays[name]} made = {value}; ", "made"
            copies = " ".join(f"{target}.{f} = {value}.{f};" for f in structs[arrays[name]])
            yield (
                f"`{target}` is set as a whole at line {suspect.line(k)}, but `{name}` has elements that are set field "
                f"by field: write `{made}{copies}`."
            )
            return


def _derives_again(suspect: _Suspect) -> Iterator[str]:
    for k in suspect.calls("bwd_diff", "__bwd_diff"):
        yield (
            f"`{suspect.function.name}` calls `bwd_diff` at line {suspect.line(k)}, and that cannot be "
            "derived once more: for second derivatives use `sn.hvp`, or `fwd_diff` instead."
        )
        return


def _nested_forward(suspects: list[_Suspect]) -> Iterator[str]:
    uses = [(s, k) for s in suspects for k in s.calls("fwd_diff", "__fwd_diff")]
    if len({s.function.name for s, _ in uses}) > 1:
        (outer, a), (inner, b) = (
            uses[0],
            next(u for u in uses if u[0].function.name != uses[0][0].function.name),
        )
        yield (
            f"`fwd_diff` at line {outer.line(a)} goes over `{inner.function.name}`, which uses `fwd_diff` "
            f"too (line {inner.line(b)}): derive at most twice in all."
        )


def _prints(suspect: _Suspect) -> Iterator[str]:
    for k in suspect.calls("print"):
        yield (
            f"`{suspect.function.name}` calls `print` at line {suspect.line(k)}, and that cannot be derived: "
            f"{PRINTING}."
        )
        return


def _too_long(suspect: _Suspect) -> Iterator[str]:
    tokens = suspect.tokens
    for loop in loops(tokens, suspect.body):
        count = rounds(tokens, loop)
        if is_unrolled(tokens, loop) and count and count >= _MANY_ROUNDS:
            yield (
                f"[ForceUnroll] at line {suspect.at(loop.offset)} unrolls {count} rounds: "
                f"write `[MaxIters({count})]` instead."
            )
    for k in suspect.body:
        if tokens.text(k) == "[" and tokens.text(k + 2) == "]" and tokens.text(k + 3) in (";", ",", "="):
            size = tokens.text(k + 1)
            if size.isdecimal() and int(size[:9]) >= LARGE_ARRAY and tokens.items[k - 1].is_name:
                yield f"Every thread keeps the array of {size} elements at line {suspect.line(k)}: shrink it."
                return
