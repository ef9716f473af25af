"""A print without a place for its values never shows them: the lint says so."""

from __future__ import annotations

from typing import Any

import pytest

from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

IMPORT = "import sgl.device.print;\n"


def said(statement: str, before: str = IMPORT) -> list[str]:
    return [d.remedy for d in lint(Source(f"{before}void f(float x, float y) {{ {statement} }}"))]


#: What is written, and what the remedy says.
SHOWN = {
    'print("x is", x);': 'print("x is {}", x);',
    'print("x=", x);': 'print("x={}", x);',
    'print("x, (y)", x, max(x, y));': 'print("x, (y) {} {}", x, max(x, y));',
    'print("at\\n", x);': 'print("at {}\\n", x);',
    'print("%.2f of %d\\n", x, y);': 'print("{} of {}\\n", x, y);',
    'print("", x);': 'print("{}", x);',
}


@pytest.mark.parametrize("written", SHOWN)
def test_values_without_a_place_are_warned_of(session: Any, written: str) -> None:
    assert said(written) == [f"write `{SHOWN[written]}`"]
    session.take_warnings()
    session.compile(f"{IMPORT}void f(float x, float y) {{ {SHOWN[written]} }}", warn=False)
    assert session.take_warnings() == []


def test_what_is_said_is_so(session: Any) -> None:
    for text, shown in (('"x is"', "x is"), ('"x is {}"', "x is 1.5")):
        f = session.compile(f"{IMPORT}void f(float x) {{ print({text}, x); }}", warn=False).f
        session.device.flush_print_to_string()
        f(1.5)
        assert session.device.flush_print_to_string().strip() == shown


@pytest.mark.parametrize(
    "statement",
    [
        'print("x={}", x);',
        'print("here");',
        'print("{0} {1}", x, y);',
        'print("{:.2f}", x);',
        'print("a {} b", x, y);',
        "print(x);",
        'print("a" /* , */);',
        'log.print("x is", x);',
        'print("x is", x',
        "print(",
    ],
)
def test_other_prints_are_not(statement: str) -> None:
    assert said(statement) == []


def test_a_print_of_ones_own_is_not_meant() -> None:
    assert said('print("x is", x);', "void print(String s, float x) { }\n") == []
    assert said('print("x is", x);', f"{IMPORT}void print(String s, int n) {{ }}\n") == []
