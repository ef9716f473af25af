"""Remedies for what the compiler says about types, members and arguments."""

from __future__ import annotations

import re

from slangnb.compiler.advice.case import Case
from slangnb.compiler.advice.names import close, special_name
from slangnb.compiler.advice.powers import instead
from slangnb.compiler.advice.prints import print_around
from slangnb.compiler.advice.tensor_indices import tensor_rank
from slangnb.compiler.advice.vocabulary import CALLS
from slangnb.compiler.reading.declarations import Declaration

_VECTOR = re.compile(r"vector<(\w+),(\d)>")
_MATRIX = re.compile(r"matrix<(\w+),(\d),(\d)>")
_SCALARS = frozenset(("float", "half", "double", "int", "uint", "bool", "int64_t", "uint64_t"))
#: Letters of a declaration that a remedy repeats.
_LONGEST = 80
_COMPONENTS = "xyzw"
#: An index in brackets, which may have others inside.
_INDEX = re.compile(r"\s*\[((?:[^][]|\[[^][]*\])+)\]")
_PAIR = {
    "primal": "p",
    "value": "p",
    "v": "p",
    "val": "p",
    "x": "p",
    "differential": "d",
    "grad": "d",
    "dx": "d",
}


def member(case: Case, match: re.Match[str]) -> str:
    """E30027: the components of a vector, or the members of a struct that are like it."""
    name, owner = match.group("name"), match.group("type")
    if (owner in _SCALARS or _VECTOR.fullmatch(owner)) and (call := _as_call(case, name)):
        return call
    if vector := _VECTOR.fullmatch(owner):
        size = int(vector.group(2))
        letters = ", ".join(f"`.{c}`" for c in _COMPONENTS[:size])
        return f"a {vector.group(1)}{size} has {letters}; `length(v)` and `dot(a, b)` are functions"
    if owner in _SCALARS:
        return f"a {owner} is one number and has no members: delete `.{name}`"
    if owner.startswith("DifferentialPair"):
        better = _PAIR.get(name)
        return f"write `.{better}`" if better else "a DifferentialPair has `.p` (value) and `.d` (derivative)"
    plain = owner.removeprefix("typeof(").removesuffix(")")
    struct = case.struct(plain)
    if struct is None:
        number = re.fullmatch(r"typeof\(((?:float|int|uint|half)[234]?)\)", owner)
        if number and name in ("zero", "zeros", "one", "ones"):
            return f"write `{number.group(1)}({0 if name.startswith('zero') else 1})`"
        return ""
    members = [c.name for c in struct.children if not c.name.startswith("__")]
    near = close(name, members)
    if near:
        dot = "." if not owner.startswith("typeof") else f"{plain}."
        return f"did you mean `{dot}{near}`?"
    return f"`{plain}` has {', '.join(f'`{m}`' for m in members)}" if members else f"`{plain}` has no members"


def _as_call(case: Case, name: str) -> str:
    """Say how to call ``x.sin()``: Slang's functions are no methods."""
    value, given = re.search(r"([\w.]+)\.$", case.before), re.match(r"\(([^()]*)\)", case.after)
    if value is None or given is None:
        return ""
    if name in CALLS:
        others = f", {given.group(1)}" if given.group(1).strip() else ""
        return f"write `{name}({value.group(1)}{others})`"
    return special_name(name, case.after)


def mismatch(case: Case, match: re.Match[str]) -> str:
    """E30019: what to write to get from the one type to the other."""
    wanted, got = match.group("wanted"), match.group("got")
    returns = re.search(r"\breturn\b", case.before + case.word) is not None
    to, of = _VECTOR.fullmatch(wanted), _VECTOR.fullmatch(got)
    if wanted == "String" and (printed := print_around(case.text, case.offset)):
        return f"write `{printed}`"
    if of and (filled := _filled(case, of.group(1), int(of.group(2)))):
        return f"write `{filled}`"
    if wanted in _SCALARS and of:
        if of.group(1) == "bool":
            return "write `all(...)` or `any(...)` around the comparison"
        result = f"; or let the function return {of.group(1)}{of.group(2)}" if returns else ""
        return f"write `.x` for one component, or `length(v)` or `dot(a, b)` for one number{result}"
    if to and of and to.group(1) == of.group(1):
        have, need = int(of.group(2)), int(to.group(2))
        if have > need:
            return f"write `.{_COMPONENTS[:need]}` behind the vector"
        return f"write `{to.group(1)}{need}(v, {', '.join(['0'] * (need - have))})`"
    if (to or of) and (_MATRIX.fullmatch(wanted) or _MATRIX.fullmatch(got)):
        return "write `mul(m, v)`, with as many columns in the matrix as the vector has components"
    if wanted.startswith("DifferentialPair"):
        return "make a pair of the value first: `var p = diffPair(x);`, and pass `p`"
    if wanted == "void":
        return f"give the function the result type `{_short(got)}` instead of void"
    if got == "void":
        return "this call gives no value: write it as a statement, and read its results from its arguments"
    if any("explicit conversion" in n.message for n in case.diagnostic.notes):
        return f"write `({_short(wanted)})(...)` around the expression if you want to convert it"
    if re.fullmatch(r"[A-Z]\w?", got) and returns:
        return f"let the function return `{got}`"
    return ""


def _filled(case: Case, kind: str, have: int) -> str:
    """Write a vector that is made of a shorter one alone, ``float3(p.xy)``, with zeros; "" where it is another case."""
    made = re.search(r"\b(float|half|double|u?int)([234])\s*\(\s*((?:\w+\.)*)\Z", case.before)
    if made is None or made.group(1) != kind or int(made.group(2)) <= have or not re.match(r"\s*\)", case.after):
        return ""
    zeros = ["0" if kind in ("int", "uint") else "0.0"] * (int(made.group(2)) - have)
    return f"{kind}{made.group(2)}({', '.join([made.group(3) + case.word, *zeros])})"


def _short(name: str) -> str:
    if vector := _VECTOR.fullmatch(name):
        return f"{vector.group(1)}{vector.group(2)}"
    matrix = _MATRIX.fullmatch(name)
    return f"{matrix.group(1)}{matrix.group(2)}x{matrix.group(3)}" if matrix else name


def conversion(case: Case, match: re.Match[str]) -> str:
    """E30081."""
    to = _short(match.group("to"))
    rest = case.diagnostic.source[max(0, case.diagnostic.column - 1) :]
    simple = re.match(r"([A-Za-z_][\w.]*)\s*[;,)\]]", rest)
    owner = re.search(r"(?:[A-Za-z_]\w*\.)*\Z", case.before)  # of `p.y`, the caret stands under `y`
    front = owner.group() if owner else ""
    if not simple or match.group("to") == "bool" or case.before.removesuffix(front).rstrip().endswith("."):
        return f"write `{to}(...)` around the expression" if to != "bool" else "write a comparison, such as `x != 0`"
    return f"write `{to}({front}{simple.group(1)})`"


def arguments(case: Case, _: re.Match[str]) -> str:
    """Too many or not enough arguments: what the function takes."""
    called = re.search(r"([A-Za-z_]\w*)\s*$", case.before)
    expected = re.search(r"expected (\d)", case.diagnostic.message)
    if case.word == "[" or case.before.rstrip().endswith("["):
        count = expected.group(1) if expected else ""
        return f"give {count} {'index' if count == '1' else 'indices'}, one for each axis" if count else ""
    declared = _overloads(case, called.group(1)) if called else ""
    if declared:
        return declared
    candidate = next((n.message for n in case.diagnostic.notes if n.message.startswith("candidate: func ")), "")
    return f"it takes `{candidate.removeprefix('candidate: func ')}`" if candidate else ""


def _overloads(case: Case, name: str) -> str:
    found = case.overloads(name)
    return "it is declared as " + " or ".join(f"`{_signature(d)}`" for d in found[:3]) if found else ""


def pair(case: Case, _: re.Match[str]) -> str:
    """A DifferentialPair built without its type."""
    return "write `diffPair(x)` or `diffPair(x, dx)`" if "DifferentialPair(" in case.diagnostic.source else ""


def untyped(case: Case, _: re.Match[str]) -> str:
    """E30620."""
    return f"write its type: `float {case.word};`"


def comma(case: Case, _: re.Match[str]) -> str:
    """E41024: mostly a decimal comma, or a tuple."""
    start = case.before.rfind("(")
    listed = re.match(r"\(([^()]*)\)", case.diagnostic.source[max(0, start) :])
    parts = [part.strip() for part in listed.group(1).split(",")] if listed else []
    if start >= 0 and (len(parts) in (3, 4) or (len(parts) == 2 and not all(map(str.isdigit, parts)))):
        return f"only the last value counts: write `float{len(parts)}({', '.join(parts)})` to keep all"
    decimal = re.search(r"\b(\d+),(\d+)\b", case.diagnostic.source)
    if decimal:
        return f"write `{decimal.group(1)}.{decimal.group(2)}` with a point"
    return "only the last value counts: write a vector, such as `float2(a, b)`, to keep both"


def _signature(function: Declaration) -> str:
    given = ", ".join(f"{p.type} {p.name}".strip() for p in function.parameters)
    return f"{function.type} {function.name}({given})".strip()


def no_overload(case: Case, match: re.Match[str]) -> str:
    """E39999, no overload: the mistakes that this mostly is."""
    name, types = match.group("name"), match.group("types")
    kinds = re.findall(r"(?:[^,<]|<[^>]*>)+", types)
    if name == "atan" and len(kinds) == 2:
        return "write `atan2(y, x)`"
    if name == "diffPair" and len(kinds) == 1 and case.struct(kinds[0]):
        return f"write `struct {kinds[0]} : IDifferentiable`"
    if name == "*" and "matrix<" in types:
        return "write `mul(a, b)` for products with a matrix"
    if re.fullmatch(r"[A-Z]\w?(?:, [A-Z]\w?)*", types) and not re.match(r"\w", name):
        return f"say that the type has arithmetic: `<{kinds[0]} : IFloat>`"
    return _overloads(case, name) or _constructor(name) or _builtin(name, [k.strip() for k in kinds])


def _constructor(name: str) -> str:
    """Say what a vector or a matrix is made of."""
    if vector := re.fullmatch(r"(?:float|half|double|u?int|bool)([234])", name):
        letters = ", ".join(_COMPONENTS[: int(vector.group(1))])
        return f"give {vector.group(1)} numbers in all, as in `{name}({letters})`, or one for all: `{name}(x)`"
    if matrix := re.fullmatch(r"(float|half|double)([234])x([234])", name):
        kind, rows, columns = matrix.groups()
        return f"give {int(rows) * int(columns)} numbers, or {rows} rows that are each a `{kind}{columns}`"
    return ""


def _builtin(name: str, kinds: list[str]) -> str:
    """Say what one of Slang's own functions takes."""
    form = CALLS.get(name, "")
    count = form.count(",") + 1
    if form and len(kinds) != count:
        return f"it takes {count} argument{'s' if count > 1 else ''}: write `{form}`"
    sizes = sorted({int(v.group(2)) for kind in kinds if (v := _VECTOR.fullmatch(kind))})
    if len(sizes) > 1:
        low, high = sizes[0], sizes[-1]
        zeros = ", ".join(["0"] * (high - low))
        return f"its vectors must be of one size: write `.{_COMPONENTS[:low]}` behind the longer one, " + (
            f"or `float{high}(v, {zeros})` for the shorter one"
        )
    return ""


def tensor_dimensions(case: Case, match: re.Match[str]) -> str:
    """E30441: ``Tensor<float>``."""
    element = re.match(r"\s*<\s*([\w<, ]+?)\s*>", case.after)
    return (
        f"write `{match.group('name')}<{element.group(1) if element else 'float'}, 1>`, with its number of dimensions"
    )


def one_bracket(case: Case, _: re.Match[str]) -> str:
    """E30013: ``w[0][1]`` for a tensor, whose one index counts for all dimensions."""
    indexed = re.search(rf"(\w+){_INDEX.pattern}\Z", case.before)
    more = re.match(rf"(?:{_INDEX.pattern})+", case.word + case.after)
    if indexed is None or more is None:
        return ""
    name = indexed.group(1)
    indices = [indexed.group(2), *_INDEX.findall(more.group())]
    function = case.around
    kinds = [p.type for p in function.parameters if p.name == name] if function else []
    kinds = kinds or [d.type for d in case.declared() if d.kind == "global" and d.name == name]
    fits = any(tensor_rank(kind, ()) == len(indices) for kind in kinds)
    return f"write `{name}[{', '.join(i.strip() for i in indices)}]`" if fits else ""


def out_of_bounds(_: Case, match: re.Match[str]) -> str:
    """E30029."""
    size = int(match.group("size"))
    return f"the last index is {size - 1}" if size else "the array is empty"


def not_constant(case: Case, _: re.Match[str]) -> str:
    """A number must be known when compiling."""
    if re.search(r"MaxIters|ForceUnroll", case.diagnostic.source):
        return "write a number that is large enough: `[MaxIters(64)]`"
    return "write a number, or a `static const int`; a parameter is known only when the kernel runs"


def integer_operator(case: Case, match: re.Match[str]) -> str:
    """``x ^ 2`` and the like."""
    mark = match.group("mark")
    if mark == "^":
        return instead(case.diagnostic.source) or "write `pow(x, y)` for a power"
    return f"`{mark}` works on integers: write `int(...)`"


def not_assignable(case: Case, _: re.Match[str]) -> str:
    """E30011: a constant, or a tensor that is only read."""
    target = re.search(r"(\w+)(\s*\[.*\])?\s*$", case.before.rstrip("[(+-*/= "))
    name = target.group(1) if target else ""
    if answer := _global(case, name):
        return answer
    tensor = re.search(rf"\bI?(?:Diff)?Tensor<[^;{{}}]*?>\s+{re.escape(name)}\b", case.code) if name else None
    if tensor:
        kind = re.match(r"(I?)(Diff)?Tensor", tensor.group())
        better = f"{kind.group(1)}RW{kind.group(2) or ''}Tensor" if kind else "RWTensor"
        return f"declare `{name}` as `{better}<...>` to write to it"
    if name and re.search(rf"\blet\s+{re.escape(name)}\b", case.code):
        return f"declare it with `var {name}` instead of `let`"
    return "it is constant: copy it to a variable first, or drop `const`"


def _global(case: Case, name: str) -> str:
    found = next((d for d in case.declared() if d.kind == "global" and d.name == name), None)
    if found is None:
        return ""
    return (
        f"a global cannot change while a kernel runs: declare `{name}` inside the function; "
        f"as `static {found.type} {name}` each element has its own"
    )


def needs_variable(case: Case, _: re.Match[str]) -> str:
    """E30047: a global, a constant, or an inout argument that is no variable."""
    if answer := _global(case, case.word):
        return answer
    whole = re.search(r"(\w+)(?:\.\w+)*\Z", case.before + case.word.rstrip("["))
    name = whole.group(1) if whole else ""
    earlier = case.code[: max(case.offset, 0)]
    declared = [*re.finditer(rf"(const\s+)?\b(\w+)\s+{name}\s*[=,;)]\s*(\d*)", earlier)] if name else []
    if declared and declared[-1].group(2) == "let":
        counts = declared[-1].group(3) and re.search(r"\bfor\s*\(\s*\Z", earlier[: declared[-1].start()])
        return f"`{name}` is declared with `let`: write `{'int' if counts else 'var'} {name}`"
    if declared and declared[-1].group(1):
        return "it is constant: copy it to a variable first, or drop `const`"
    return "store the argument in a variable first, such as `var p = diffPair(x);`, and pass `p`"


def assignment_in_condition(_: Case, __: re.Match[str]) -> str:
    """E30057."""
    return "write `==` to compare"


def vector_choice(_: Case, __: re.Match[str]) -> str:
    """E30056."""
    return "write `select(condition, a, b)`"


def return_value(_: Case, __: re.Match[str]) -> str:
    """E30006."""
    return "write the value: `return x;`"


def uninitialised(case: Case, match: re.Match[str]) -> str:
    """E41016."""
    name = match.group("name")
    declared = re.search(rf"\b([A-Za-z_]\w*)\s+{re.escape(name)}\s*[;,]", case.code)
    if not declared:
        return f"give `{name}` a value where it is declared"
    kind = declared.group(1)
    value = "0" if kind in _SCALARS else "{}"
    return f"give it a value where it is declared: `{kind} {name} = {value};`"


def global_constant(case: Case, match: re.Match[str]) -> str:
    """E31224."""
    found = next((d for d in case.declared() if d.kind == "global" and d.name == match.group("name")), None)
    if found is None or len(found.signature) > _LONGEST:
        return "write `static const`"
    better = re.sub(r"\bconst\b", "static const", found.signature, count=1)
    return f"write `{better};`"


def missing_member(_: Case, match: re.Match[str]) -> str:
    """E38100."""
    return f"add `{match.group('name')}` to `{match.group('type')}`, with the signature of the interface"
