"""Finds variables that hold one of several structs, whose derivatives forward mode loses where their sizes differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slangnb.compiler.advice.loops import differentiable, functions, inside
from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declared import Declaration, everything
from slangnb.compiler.reading.tokens import Tokens


def lost_implementations(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Yield the local variables of an interface's type that are given a value later than where they are declared.

    Measured: where two implementations differ in size, the smaller one has the derivative 0 in forward mode, while
    reverse mode is right. A variable that is set where it is declared, and a parameter of the interface's type, keep
    theirs.

    Parameters
    ----------
    tokens : Tokens
        Of the whole text.
    declared : sequence of Declaration
        What the text declares.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> types = "interface I : IDifferentiable { } struct A : I { float a; } struct B : I { float a, b; }"
    >>> text = types + "[Differentiable] float f(float x) { I s; A a = { x }; s = a; I t = a; return x; }"
    >>> [found.message for found in lost_implementations(Tokens(text), declarations(text))]
    ['forward mode may lose the derivative of s: A and B differ in size.']
    """
    differing = _differing(declared)
    for function in functions(declared):
        if not differentiable(function):
            continue
        for k in inside(tokens, function):
            if tokens.text(k - 1) in differing and tokens.text(k + 1) == ";" and tokens.text(k).isidentifier():
                interface, name = tokens.text(k - 1), tokens.text(k)
                one, other = differing[interface]
                yield Advice.at(
                    tokens.items[k],
                    f"forward mode may lose the derivative of {name}: {one} and {other} differ in size.",
                    f"write a function with a parameter `{interface} {name}`, and call it in each branch",
                )


def _differing(declared: Sequence[Declaration]) -> dict[str, tuple[str, str]]:
    """Give the interfaces of a text that have implementations with other fields, and two of these."""
    kept: dict[str, Declaration] = {}
    found: dict[str, tuple[str, str]] = {}
    named = {one.name.rpartition("::")[2] for one in everything(declared) if one.kind == "interface"}
    for one in everything(declared):
        if one.kind != "struct":
            continue
        for base in named.intersection(base.rpartition("::")[2] for base in one.bases):
            first = kept.setdefault(base, one)
            if _fields(first) != _fields(one):
                found.setdefault(base, (first.name, one.name))
    return found


def _fields(struct: Declaration) -> list[str]:
    return sorted(field.type for field in struct.children if field.kind == "field")
