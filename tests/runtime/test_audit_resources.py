"""Functions that read buffers and textures, beside which reverse mode is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

X = np.ones((5, 3), np.float32)
SHADE = "[Differentiable] float3 f(float k, float3 light, {}) {{ {} return {} * c + light * (0.1 * k); }}"


@pytest.fixture
def w(session: Any) -> Any:
    import slangpy as spy

    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    return session.device.create_buffer(data=np.ones(64, np.float32), usage=usage, struct_size=4)


@pytest.fixture
def photo(session: Any) -> Any:
    import slangpy as spy

    return session.device.create_texture(
        type=spy.TextureType.texture_2d,
        format=spy.Format.rgba32_float,
        width=4,
        height=4,
        usage=spy.TextureUsage.shader_resource,
        data=np.ones((4, 4, 4), np.float32),
    )


def compiled(session: Any, text: str) -> Any:
    return session.compile(text, warn=False)


def test_powers_of_negative_numbers(session: Any, w: Any) -> None:
    text = "[Differentiable] float sq(float p, StructuredBuffer<float> w) {{ return {} * w[0]; }}"
    f = compiled(session, text.format("pow(p, 2)")).sq
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        sn.grad(f, "p")(p=-2.0, w=w)
    assert sn.grad(f, "p")(p=3.0, w=w) == pytest.approx(6)
    assert sn.grad(compiled(session, text.format("p * p")).sq, "p")(p=-2.0, w=w) == pytest.approx(-4)


def test_a_scalar_beside_a_buffer_or_a_texture(session: Any, w: Any, photo: Any, ones: Any) -> None:
    at = np.zeros((5, 2), np.int32)
    buffer = "StructuredBuffer<float> w", "float c = w[0];", {"w": w}
    texture = "int2 at, Texture2D<float4> photo", "float3 c = photo[at].xyz;", {"at": at, "photo": photo}
    for parameters, body, given in (buffer, texture):
        wrong = compiled(session, SHADE.format(parameters, body, "k * light")).f
        with pytest.raises(sn.GradientError, match="wrong for 'k'"):
            sn.grad(wrong, "k")(k=0.7, light=X, **given)
        k = sn.tensor([0.7], grad=True)
        y = ones(wrong(k=k, light=X, **given, _result="tensor"))
        with pytest.raises(sn.GradientError, match="wrong for 'k'"):
            wrong.bwds(k=k, light=X, **given, _result=y)
        right = compiled(session, SHADE.format(parameters, body, "light * k")).f
        assert sn.grad(right, "k")(k=0.7, light=X, **given) == pytest.approx(15 * 1.1)


def test_places_in_a_texture_by_whole_numbers(session: Any, photo: Any) -> None:
    text = SHADE.format("int i, Texture2D<float4> photo", "float3 c = photo[int2(i % 4, 0)].xyz;", "k * light")
    with pytest.raises(sn.GradientError, match="wrong for 'k'"):
        sn.grad(compiled(session, text).f, "k")(k=0.7, light=X, i=5, photo=photo)


def test_loops_that_are_too_long_beside_a_buffer(session: Any, w: Any) -> None:
    f = compiled(
        session,
        "[Differentiable] float f(float p, float x, int n, StructuredBuffer<float> w) { float r = x; "
        "[MaxIters(4)] for (int i = 0; i < n; i++) r = r * p + w[i] + i; return r; }",
    ).f
    x, p = np.ones(5, np.float32), 0.7
    right = 5 * (3 * p**2 + 2 * p + 2)  # of p^3 x + p^2 + 2 p + 3
    assert sn.grad(f, "p")(p=p, x=x, n=3, w=w) == pytest.approx(right, rel=1e-5)
    with pytest.raises(sn.GradientError, match="MaxIters"):
        sn.grad(f, "p")(p=p, x=x, n=8, w=w)


def test_equal_indices_beside_a_buffer(session: Any, w: Any) -> None:
    text = "[Differentiable] float f(float z[3], int k, StructuredBuffer<float> w) { return z[0] * z[k] * w[k]; }"
    g = sn.grad(compiled(session, text).f, "z")
    z = np.array([3, 5, 7], np.float32)
    assert g(z=z, k=1, w=w).tolist() == [5, 3, 0]
    with pytest.raises(sn.GradientError, match="two indices"):
        g(z=z, k=0, w=w)


def test_gradcheck_reports_what_is_refused(session: Any, w: Any) -> None:
    f = compiled(session, SHADE.format("StructuredBuffer<float> w", "float c = w[0];", "k * light")).f
    assert not sn.gradcheck(f, k=0.7, light=X, w=w).ok


def test_buffers_that_are_written_are_not_looked_at(session: Any, w: Any) -> None:
    parts = "RWStructuredBuffer<float> w", "float c = no_diff w[0];"
    f = compiled(session, SHADE.format(*parts, "k * light")).f
    with pytest.warns(sn.GradientWarning, match=r"f: .* cannot take 'w'.* sn\.gradcheck\(f, \.\.\.\)$"):
        sn.grad(f, "k")(k=0.7, light=X, w=w)
    f = compiled(session, SHADE.format(*parts, "light * k")).f
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.grad(f, "k")(k=0.7, light=X, w=w) == pytest.approx(15 * 1.1)


def test_a_shared_number_whose_gradient_is_zero(session: Any, w: Any) -> None:
    text = "[Differentiable] float f(float p, float x, StructuredBuffer<float> w) { return float(int(p)) * w[0] + x; }"
    x = np.ones(3, np.float32)
    with pytest.warns(sn.GradientWarning, match="the gradient of 'p' is zero everywhere;.* cancel"):
        assert sn.grad(compiled(session, text).f, "p")(p=2.5, x=x, w=w) == 0
    once = compiled(session, text + "\n// of a single element, any number may be right")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.grad(once.f, "p")(p=2.5, x=1.0, w=w) == 0
