"""What a Slang text declares, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function, as written; ``default`` is "" when there is none."""

    name: str
    type: str
    default: str = ""
    modifiers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declaration:
    """A function, a type or a variable in the source.

    Attributes
    ----------
    name : str
        Its name; inside a namespace with it: ``"shapes::sphere"``.
    kind : {"function", "struct", "interface", "enum", "global", "field"}
        What it is. Fields of structs and the cases of an enum are "field" and stand among ``children``.
    line : int
        Line of the text, from 1, on which the signature starts.
    doc : str
        The comment directly above, cleaned.
    signature : str
        From the first modifier to before the body, on one line.
    parameters : tuple of Parameter
        Of a function.
    attributes : tuple of str
        Such as ``"Differentiable"`` or ``"BackwardDerivative(f)"``.
    body : (int, int)
        Offsets of the braces and what is between; (0, 0) when there is no body.
    span : (int, int)
        Offsets of all of it, attributes included.
    type : str
        Result type of a function, type of a variable.
    bases : tuple of str
        What a type inherits.
    children : tuple of Declaration
        Methods and fields.
    """

    name: str
    kind: str
    line: int
    doc: str = ""
    signature: str = ""
    parameters: tuple[Parameter, ...] = ()
    attributes: tuple[str, ...] = ()
    body: tuple[int, int] = (0, 0)
    span: tuple[int, int] = (0, 0)
    type: str = ""
    bases: tuple[str, ...] = ()
    children: tuple[Declaration, ...] = ()


def everything(declared: Iterable[Declaration]) -> Iterator[Declaration]:
    """Yield declarations and, behind each, what stands inside it."""
    for one in declared:
        yield one
        yield from everything(one.children)
