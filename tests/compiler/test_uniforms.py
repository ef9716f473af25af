"""What is a uniform is 0 until it is set, also a global with an initial value: the lint says so."""

from __future__ import annotations

from typing import Any

import pytest

from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

#: The declaration, what the lint says of Python, and what it says to write.
FORMS = {
    "float K = 3.0;": ("f.set({'K': 3.0})", "write `static const float K = 3.0;`"),
    "let K = 3.0;": ("f.set({'K': 3.0})", "write `static let K = 3.0;`"),
    "float K[2] = {3, 4};": ("f.set({'K': ...})", "write `static const float K[2] = {3, 4};`"),
    "float3 K = float3(1, 2, 3);": ("f.set({'K': ...})", "write `static const float3 K = float3(1, 2, 3);`"),
    "float J, K = 3.0f;": ("f.set({'K': 3.0})", "write `static const float J, K = 3.0f;`"),
}


@pytest.mark.parametrize("declared", FORMS)
def test_the_initial_value_of_a_uniform_is_ignored(declared: str) -> None:
    setting, remedy = FORMS[declared]
    (found,) = lint(Source(f"{declared}\nfloat f(float x) {{ return x; }}", "In[3]", 2))
    assert found.message == f"K is a uniform: its initial value is ignored, it is 0 until {setting}."
    assert (found.remedy, found.line, found.source[found.column - 1]) == (remedy, 2, "K")


def test_a_value_that_is_not_written_yet_does_not_stop_the_lint() -> None:
    (found,) = lint(Source("float K = ;", "In[3]", 2))
    assert found.message == "K is a uniform: its initial value is ignored, it is 0 until f.set({'K': ...})."


@pytest.mark.parametrize(
    "declared",
    [
        "static float K = 3.0;",
        "static const float K = 3.0;",
        "float K;",
        "[SpecializationConstant] const int K = 3;",
        "struct S { float K = 3.0; };",
        "float g(float K = 3.0) { float L = K; return L; }",
    ],
)
def test_what_is_no_uniform_or_has_no_value_is_not_meant(declared: str) -> None:
    assert lint(Source(f"{declared}\nfloat f(float x) {{ return x; }}")) == ()


@pytest.mark.parametrize(("declared", "remedy"), [(d, FORMS[d][1]) for d in ("float K = 3.0;", "let K = 3.0;")])
def test_what_is_said_is_so(session: Any, declared: str, remedy: str) -> None:
    body = "float f(float x) { return K * x; }"
    f = session.compile(declared + body, warn=False).f
    assert f(2.0) == 0.0 and f.set({"K": 3.0})(2.0) == 6.0
    written = remedy.removeprefix("write `").removesuffix("`")
    assert session.compile(written + body, warn=False).f(2.0) == 6.0
    assert len(session.take_warnings()) == 1


BUFFERS = {
    "cbuffer": "what is in P is uniform: it is 0 until f.set({'P': {'a': ..., 'b': ...}}).",
    "tbuffer": "functions that read a tbuffer may crash the compiler when they are called.",
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_a_constant_buffer_compiles_and_is_said(session: Any, kind: str) -> None:
    session.take_warnings()
    m = session.compile(
        f"{kind} P {{ float a; float b; }}\nstruct Q {{ float z; }};\nfloat f(float x) {{ return a * x + b; }}",
        warn=False,
    )
    assert list(m) == ["f", "Q"]
    (found,) = session.take_warnings()
    assert found.message == BUFFERS[kind]
    assert found.remedy == "make a and b parameters of the function"
    if kind == "cbuffer":
        assert m.f(3.0) == 0.0
        assert m.f.set({"P": {"a": 2.0, "b": 1.0}})(3.0) == 7.0
