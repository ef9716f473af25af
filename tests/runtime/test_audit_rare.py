"""What few elements of a call show, bounds that are arguments, and parts of vectors that a branch assigns to."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

DISK = """
[Differentiable] float3 tint(float p, float3 v) { return p * v; }
[Differentiable] float3 tinted(float p, float3 v) { return v * p; }
[Differentiable] float3 disk(float2 uv, float p, float3 v, float r)
{
    float3 colour = p * float3(0.1, 0.2, 0.3);
    float2 d = uv - float2(32.0);
    if (dot(d, d) < r * r) colour = colour + NAME(p, v);
    return colour;
}
"""
PIXELS = np.stack(np.meshgrid(np.arange(64), np.arange(64)), axis=-1).astype(np.float32)
V = np.array([1, 0.5, 0.25], np.float32)


@pytest.mark.parametrize("r", [4.0, 8.0, 16.0])
def test_a_branch_that_few_elements_take(session: Any, r: float) -> None:
    """A disk of 1, 5 and 19 % of the pixels; of the gradient its share is larger."""
    m = session.compile(DISK.replace("NAME", "tint") + f"// {r}")
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        sn.grad(m.disk, "p")(uv=PIXELS, p=0.7, v=V, r=r)
    m = session.compile(DISK.replace("NAME", "tinted") + f"// {r}")
    inside = int((((PIXELS - 32) ** 2).sum(axis=-1) < r * r).sum())
    found = sn.grad(m.disk, "p")(uv=PIXELS, p=0.7, v=V, r=r)
    assert found == pytest.approx(64 * 64 * 0.6 + inside * 1.75, rel=1e-5)


def test_equal_indices_of_few_elements(session: Any) -> None:
    m = session.compile(
        "[Differentiable] float f(float z[16], float x, float y) { return z[int(x * 16)] * z[int(y * 16)]; }"
    )
    draw = np.random.default_rng(5)
    x, y = draw.uniform(0, 0.999, (2, 4000)).astype(np.float32)
    with pytest.raises(sn.GradientError, match=r"where two indices .* are equal"):
        sn.grad(m.f, "z")(z=np.arange(16, dtype=np.float32), x=x, y=y)


def test_a_power_of_few_negative_numbers(session: Any) -> None:
    m = session.compile(
        "[Differentiable] float f(float p, float x) { if (x > 9.9) return pow(p - 3, 2); return p * x; }"
    )
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        sn.grad(m.f, "p")(p=0.7, x=np.linspace(0, 10, 1001, dtype=np.float32))


def test_bounds_that_are_arguments(session: Any) -> None:
    """Random arguments would cross them: there the modes differ, as `clamp` has no meaning."""
    m = session.compile(
        "[Differentiable] float3 f(float3 x, float lo, float hi) { return clamp(x, float3(lo), float3(hi)); }"
    )
    found = sn.grad(m.f)(x=np.array([[-1, 0.5, 3]], np.float32), lo=0.0, hi=1.0)
    assert found["x"].tolist() == [[0, 1, 0]]
    assert (found["lo"], found["hi"]) == (1.0, 1.0)


def test_rays_that_never_end(session: Any) -> None:
    """Their derivatives are beyond 1e18, where the modes differ by more than roundings of the arguments tell."""
    m = session.compile("""
        [Differentiable] float sdf(float3 p, float r) { return length(p) - r + 0.1 * sin(5 * p.x) * sin(5 * p.y); }
        [Differentiable] float march(float2 uv, float r, float3 eye) {
            float3 d = normalize(float3(uv, 1.5));
            float t = 0;
            [MaxIters(64)] for (int i = 0; i < 64; i++) { t += sdf(eye + d * t, r); }
            return t;
        }""")
    uv = np.stack(np.meshgrid(np.linspace(-1, 1, 64), np.linspace(-1, 1, 64)), axis=-1).astype(np.float32)
    assert np.isfinite(sn.grad(m.march, ("r", "eye"))(uv, 1.0, [0.0, 0.0, -3.0])["r"])


FRESNEL = """[Differentiable] float f(float3 d, float3 n) {
    float o = 1 - saturate(dot(normalize(d), normalize(n))); return o * o * o; }"""
RAY = """[Differentiable] float f(float3 o, float3 d, float r) {
    float3 n = normalize(d); float b = dot(o, n); float h = b * b - dot(o, o) + r * r;
    if (h < 0) return 0; return -b - sqrt(h); }"""
NOISE = """[Differentiable] float f(float2 p, float sc) {
    float2 q = p * sc; float2 t = q - no_diff floor(q); float2 u = t * t * (float2(3) - 2 * t); return u.x * u.y; }"""


@pytest.mark.parametrize(
    ("text", "shapes", "change"),
    [
        (FRESNEL, {"d": (3,), "n": (3,)}, lambda x, draw: np.round(2 * x)),
        (FRESNEL, {"d": (3,), "n": (3,)}, lambda x, draw: np.round(x) / 2),
        (RAY, {"o": (3,), "d": (3,), "r": ()}, lambda x, draw: np.where(draw.random(x.shape) < 0.3, 0, x)),
        (NOISE, {"p": (2,), "sc": ()}, lambda x, draw: 1e-3 * x),
    ],
    ids=["whole", "halves", "zeros", "small"],
)
def test_elements_at_kinks_are_no_fault(session: Any, text: str, shapes: Any, change: Any) -> None:
    """There the modes may stand on different sides, for many elements of a call."""
    draw = np.random.default_rng(3)
    x = {name: change(draw.normal(size=(2000, *own)), draw).astype(np.float32) for name, own in shapes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of vectors of zeros, which normalize divides by
        found = sn.grad(session.compile(text).f)(**x)
    assert {name: g.shape for name, g in found.items()} == {name: g.shape for name, g in x.items()}


PARTS = """
[Differentiable] float part(float p, float3 u) { float3 c = float3(0.0); if (u.x > 0) { c.x = u.y; } return c.x; }
[Differentiable] float whole(float p, float3 u) {
    float3 c = float3(0.0); if (u.x > 0) { c = float3(u.y, c.y, c.z); } return c.x; }
[Differentiable] float always(float p, float3 u) { float3 c = u; c.x = u.y; return c.x * c.y; }
[Differentiable] float product(float x, float3 u, float3 v) {
    float3 w = u * v; float3 c = u; if (x > 90.0) { c.x = w.y; } return c.x; }
[Differentiable] float mended(float x, float3 u, float3 v) {
    float3 w = u * v; float3 c = u; if (x > 90.0) { c = float3(w.y, c.y, c.z); } return c.x; }
"""
AT: dict[str, Any] = {"p": 0.5, "u": [1.0, 2.0, 3.0]}


@pytest.fixture
def parts(session: Any) -> Any:
    return session.compile(PARTS, name="parts")


@pytest.mark.parametrize("direction", [{"u": [0.3, -0.5, 0.7]}, {"p": 1.0}])
def test_forward_mode_of_a_part_that_a_branch_assigns(parts: Any, direction: Any) -> None:
    with pytest.raises(sn.GradientError, match=r"where nothing moves, it gives 2; .* as in c\.x = v\.y") as error:
        sn.jvp(parts.part, AT, direction)
    assert error.value.remedy == "assign the whole vector: `c = float3(v.y, c.y, c.z)`"
    right = direction.get("u", [0, 0, 0])[1]
    assert sn.jvp(parts.whole, AT, direction) == (2.0, pytest.approx(right))
    assert sn.jvp(parts.part, {**AT, "u": [-1.0, 2.0, 3.0]}, direction) == (0.0, 0.0)
    assert sn.jvp(parts.always, AT, direction) == (4.0, pytest.approx(4 * right))


def test_second_derivatives_of_a_part_that_a_branch_assigns(parts: Any) -> None:
    with pytest.raises(sn.GradientError, match="forward mode is wrong"):
        sn.hvp(parts.part, "u")(**AT, v=[1.0, 0.0, 0.0])
    assert sn.hvp(parts.always, "u")(**AT, v=[0.0, 1.0, 0.0]).tolist() == [0.0, 2.0, 0.0]


def test_reverse_mode_is_not_blamed_for_forward_mode(parts: Any) -> None:
    found = sn.grad(parts.part)(**AT)
    assert (found["p"], found["u"].tolist()) == (0.0, [0.0, 1.0, 0.0])


def test_reverse_mode_of_a_part_that_a_branch_assigns(parts: Any) -> None:
    x = np.linspace(0, 100, 1001, dtype=np.float32)  # 100 of them above 90
    with pytest.raises(sn.GradientError, match="a part of a vector is assigned in a branch"):
        sn.grad(parts.product, "u")(x=x, u=[1.0, 2.0, 3.0], v=[4.0, 5.0, 6.0])
    assert sn.grad(parts.mended, "u")(x=x, u=[1.0, 2.0, 3.0], v=[4.0, 5.0, 6.0]).tolist() == [901, 500, 0]
