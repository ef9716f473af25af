"""Public bug cases about the compiler: 005-007 (crash, hang, internal error) and 017 (edited cells)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import slangnb as sn


@pytest.fixture
def short_guard(session: Any) -> Iterator[None]:
    """A hang is found after this many seconds."""
    before, session.guard.seconds = session.guard.seconds, 8.0
    yield
    session.guard.seconds = before


def backward(f: Any, ones: Any, values: list[float], *rest: Any) -> tuple[np.ndarray, np.ndarray]:
    x = sn.tensor(values, grad=True)
    y = ones(f(x, *rest, _result="tensor"))
    f.bwds(x, *rest, _result=y)
    return y.to_numpy(), x.grad.to_numpy()


LOOPS = """
[Differentiable]
float window(float x, no_diff int half_width)
{
    float s = 0.0;
    [MaxIters(8)]
    for (int k = -half_width; k < half_width; k++)
        s += float(k) * x * x + x;
    return s;
}
[Differentiable]
float window_zero(float x, no_diff int half_width)
{
    float s = 0.0;
    [MaxIters(8)]
    for (int j = 0; j < 2 * half_width; j++)
        s += float(j - half_width) * x * x + x;
    return s;
}
"""


def test_005_loop_from_zero(session: Any, ones: Any) -> None:
    value, gradient = backward(session.compile(LOOPS).window_zero, ones, [0.5, 2.0], 2)
    np.testing.assert_allclose(value, [1.5, 0.0], atol=1e-5)  # -2x^2 + 4x
    np.testing.assert_allclose(gradient, [2.0, -4.0], atol=1e-5)


def test_005_loop_from_a_negative_value(session: Any, ones: Any) -> None:
    with pytest.raises(sn.CompileError, match=r"(?i)loop.*zero"):
        backward(session.compile(LOOPS).window, ones, [0.5, 2.0], 2)


GROW = """
[Differentiable]
float grow(float x)
{
    float r = x;
    int i = 0;
    [MaxIters(6)]
    while ({condition})
    {
        r = 1.5 * r + 0.1 * x;
        i++;
    }
    return r;
}
"""
FORWARD = [2.69375, 3.85, 4.0]


def test_006_short_circuit_in_a_loop_condition(session: Any, ones: Any) -> None:
    grow = session.compile(GROW.replace("{condition}", "i < 6 && r < 3.0")).grow
    np.testing.assert_allclose(grow(sn.tensor([0.2, 1.0, 2.5]), _result="numpy"), FORWARD, rtol=1e-5)
    with pytest.raises(sn.CompileError, match=r"crashed while it built the backward pass of grow") as caught:
        backward(grow, ones, [0.2, 1.0, 2.5])
    assert "`&&`: write `(i < 6) & (r < 3.0)`" in caught.value.diagnostics[0].remedy


def test_006_without_short_circuit(session: Any, ones: Any) -> None:
    grow = session.compile(GROW.replace("{condition}", "(i < 6) & (r < 3.0)")).grow
    value, gradient = backward(grow, ones, [0.2, 1.0, 2.5])
    np.testing.assert_allclose(value, FORWARD, rtol=1e-5)
    np.testing.assert_allclose(gradient, [13.46875, 3.85, 1.6], rtol=1e-4)  # polynomials in x: 1.5^k + 0.1 sum 1.5^i


BRANCHES = {
    "question mark": "return n > 2 ? {e} : x;",
    "if": "float3 r = x; if (n > 2) r = {e}; return r;",
    "loop": "float3 r = float3(0); [MaxIters(8)] for (int i = 2; i < n; i++) r += {e}; return r;",
}


@pytest.mark.parametrize("form", BRANCHES)
def test_a_float_meets_a_vector_in_a_branch(session: Any, form: str) -> None:
    text = "[Differentiable] float3 f(float p, float3 x, int n) { " + BRANCHES[form] + " }"
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    crashing = session.compile(text.replace("{e}", "x * p")).f
    with pytest.raises(sn.CompileError, match="crashed while it built the gradient kernel") as caught:
        sn.grad(crashing, "p")(0.5, x, 3)
    remedy = "The scalar `p` meets a float3 inside a branch or loop (line 1): write `float3(p)` for `p`."
    assert caught.value.diagnostics[0].remedy == remedy
    f = session.compile(text.replace("{e}", "x * float3(p)")).f
    assert sn.grad(f, "p")(0.5, x, 3) == 21
    assert sn.jvp(crashing, {"p": 0.5, "x": x, "n": 3}, {"p": 1.0})[1].tolist() == x.tolist()  # forward mode is right


COPIES = """
struct Q : IDifferentiable { float3 a; float b; }
[Differentiable] float f(float3 v, float s)
{
    Q q[2];
    q[0].a = v; q[0].b = s;
    {copy}
    float t = 0;
    for (int i = 0; i < 2; i++) t += q[i].a.x * q[i].b;
    return t;
}
"""


def test_copy_of_an_element_of_structs(session: Any) -> None:
    v, remedy = np.ones((5, 3), np.float32), "q[1].a = q[0].a; q[1].b = q[0].b;"
    f = session.compile(COPIES.replace("{copy}", "q[1] = q[0];")).f
    assert f(v, 2.0, _result="numpy").tolist() == [4] * 5
    for wrt in ("v", "s"):  # one crashes the compiler; of the other, a driver may refuse what it made
        with pytest.raises(sn.CompileError, match=r"crashed|the driver refused this") as caught:
            sn.grad(f, wrt)(v, 2.0)
        assert remedy in caught.value.diagnostics[0].remedy
    assert sn.grad(session.compile(COPIES.replace("{copy}", remedy)).f, "s")(v, 2.0) == 10


def test_print_in_a_differentiable_function(session: Any) -> None:
    top = "import sgl.device.print;\n"
    printing = session.compile(top + '[Differentiable] float f(float x) {\n    print("{}", x);\n    return x * x;\n}').f
    with pytest.raises(sn.CompileError, match="crashed while it built the gradient kernel") as caught:
        sn.grad(printing)(2.0)
    assert caught.value.diagnostics[0].remedy == (
        "`f` calls `print` at line 3, and that cannot be derived: "
        'write `void say(float v) { print("{}", v); }` above the function, and `no_diff say(x);` in it.'
    )
    helped = top + 'void say(float v) { print("{}", v); }\n'
    f = session.compile(helped + "[Differentiable] float f(float x) { no_diff say(x); return x * x; }").f
    assert sn.grad(f, "x")(2.0) == 4.0


GATED = """
import "slangpy";
[Differentiable]
float gated(int i, {type}<float, 1> u, no_diff int n)
{
    float s = 0.0;
    if (i < n)
    {
        float v = u[i];
        s = v * v + u[(i + 1) % 6];
    }
    return s;
}
"""
U = [1.0, 2.0, -1.0, 0.5, 3.0, -2.0]


def gated_right() -> tuple[list[float], list[float]]:
    """Forward and gradient by hand for n = 4."""
    forward = [U[i] ** 2 + U[(i + 1) % 6] if i < 4 else 0.0 for i in range(6)]
    gradient = [(2 * U[i] if i < 4 else 0.0) + (1.0 if 1 <= i <= 4 else 0.0) for i in range(6)]
    return forward, gradient


@pytest.mark.parametrize("kind", ["DiffTensor", "IDiffTensor"])
def test_007_tensor_read_in_a_run_time_branch(
    session: Any, ones: Any, short_guard: None, kind: str, branch_reads_refused: bool
) -> None:
    import slangpy as spy

    gated = session.compile(GATED.replace("{type}", kind)).gated
    u = sn.tensor(U, grad=True)
    y = ones(gated(spy.grid((6,)), u, 4, _result="tensor"))
    forward, gradient = gated_right()
    np.testing.assert_allclose(y.to_numpy(), forward, rtol=1e-6)
    if branch_reads_refused:
        with pytest.raises(sn.GradientError, match="slang use cuda"):
            gated.bwds(spy.grid((6,)), u, 4, _result=y)
        return
    if kind == "IDiffTensor":
        with pytest.raises(sn.CompileError, match=r"(?s)timed out.*IDiffTensor"):
            gated.bwds(spy.grid((6,)), u, 4, _result=y)
        return
    gated.bwds(spy.grid((6,)), u, 4, _result=y)
    np.testing.assert_allclose(u.grad.to_numpy(), gradient, rtol=1e-6)


def test_017_edited_cell(session: Any) -> None:
    text = "float f(float x) { return x + STEP; }"
    assert [session.compile(text, "cell_a", {"STEP": n}).f(1.0) for n in (1.0, 2.0, 1.0)] == [2.0, 3.0, 2.0]


def test_017_error_then_fix(session: Any) -> None:
    for _ in range(2):  # the same broken text twice gives the same error
        with pytest.raises(sn.CompileError, match="undefined identifier"):
            session.compile("float f(float x) { return x + oops; }", "cell_b")
    assert session.compile("float f(float x) { return x + 3.0; }", "cell_b").f(1.0) == 4.0


def test_017_unchanged_cell_keeps_its_kernels(session: Any) -> None:
    first = session.compile("float f(float x) { return x + 4.0; }", "cell_c")
    assert session.compile("float f(float x) { return x + 4.0; }", "cell_c") is first
    assert first.f(1.0) == 5.0


def test_017_changed_helper_updates_what_imports_it(session: Any) -> None:
    session.compile("public float h(float x) { return x + 10.0; }", "helpers_017")
    g = session.compile("import helpers_017; float g(float x) { return h(x); }", "user_017").g
    unnamed = session.compile("import helpers_017; float k(float x) { return 2 * h(x); }").k
    assert (g(1.0), unnamed(1.0)) == (11.0, 22.0)
    session.compile("public float h(float x) { return x + 20.0; }", "helpers_017")
    assert (g(1.0), unnamed(1.0)) == (21.0, 42.0)
    session.compile("public float hh(float x) { return x; }", "helpers_017")
    with pytest.raises(sn.CompileError, match="'h'"):
        g(1.0)
    session.compile("public float h(float x) { return x + 30.0; }", "helpers_017")
    assert (g(1.0), unnamed(1.0)) == (31.0, 62.0)
