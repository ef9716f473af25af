"""Calls with textures, buffers and samplers pass the guard too: a crash of the compiler becomes an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

X = np.ones((5, 3), np.float32)
CRASHES = "[Differentiable] float3 f(float p, float3 x, bool on{more}) {{ {body} return on ? x * p : x; }}"
RIGHT = "[Differentiable] float3 f(float p, float3 x, bool on{more}) {{ {body} return on ? x * c * float3(p) : x; }}"


def texture(session: Any, **more: Any) -> Any:
    import slangpy as spy

    pixels = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    kind, usage = spy.TextureType.texture_2d, spy.TextureUsage.shader_resource
    made = {"type": kind, "format": spy.Format.rgba32_float, "width": 2, "height": 2, "usage": usage, "data": pixels}
    return session.device.create_texture(**made | more)


def buffer(session: Any) -> Any:
    import slangpy as spy

    data = np.arange(8, dtype=np.float32)
    return session.device.create_buffer(data=data, usage=spy.BufferUsage.shader_resource, struct_size=4)


@pytest.fixture
def resources(session: Any) -> dict[str, tuple[Any, str, str]]:
    """By name: the value, its parameter, and a line that reads it as the float3 c = (0, 1, 2)."""
    t, w = texture(session), buffer(session)
    fetch = "float3 c = t[int2(0, 0)].xyz;"
    return {
        "texture": (t, "Texture2D<float4> t", fetch),
        "view": (t.create_view(), "Texture2D<float4> t", fetch),
        "buffer": (w, "StructuredBuffer<float> w", "float3 c = float3(w[0], w[1], w[2]);"),
    }


@pytest.mark.parametrize("name", ["texture", "view", "buffer"])
def test_a_crash_is_an_error(session: Any, resources: dict[str, tuple[Any, str, str]], name: str) -> None:
    value, more, body = resources[name]
    f = session.compile(CRASHES.format(more=f", {more}", body=body)).f
    with pytest.raises(sn.CompileError, match="crashed while it built the backward pass of f"):
        sn.grad(f, "p")(0.5, X, True, value)


@pytest.mark.parametrize("name", ["texture", "view", "buffer"])
def test_right_values(session: Any, resources: dict[str, tuple[Any, str, str]], name: str) -> None:
    value, more, body = resources[name]
    f = session.compile(RIGHT.format(more=f", {more}", body=body)).f
    assert f(0.5, X, True, value, _result="numpy")[4].tolist() == [0, 0.5, 1]
    assert sn.grad(f, "p")(0.5, X, True, value) == 15  # five rows of 0 + 1 + 2


def test_a_global_buffer(session: Any, ones: Any) -> None:
    p, bound = sn.tensor([0.5], grad=True), {"w": buffer(session)}
    top, body = "uniform StructuredBuffer<float> w; ", "float3 c = float3(w[0], w[1], w[2]);"
    f = session.compile(top + CRASHES.format(more="", body=body)).f.set(bound)
    with pytest.raises(sn.CompileError, match="crashed while it built the backward pass of f"):
        f.bwds(p, X, True, _result=ones(f(p, X, True, _result="tensor")))
    f = session.compile(top + RIGHT.format(more="", body=body)).f.set(bound)
    f.bwds(p, X, True, _result=ones(f(p, X, True, _result="tensor")))
    assert p.grad.to_numpy().tolist() == [15]


def test_a_sampler_and_a_texture_of_results(session: Any) -> None:
    source = "float4 f(float2 uv, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, 0); }"
    f = session.compile(source).f
    centre = np.full((1, 2), 0.25, np.float32)
    t = texture(session)
    assert f(centre, t, session.device.create_sampler(), _result="numpy").tolist() == [[0, 1, 2, 3]]
    twice = session.compile("float4 twice(float4 v) { return v * 2; }").twice
    assert twice(t, _result="texture").to_numpy()[1, 1].tolist() == [24, 26, 28, 30]


def test_stand_ins_are_of_the_same_kind(session: Any) -> None:
    import slangpy as spy

    from slangnb.devices.wire import describe, rebuild

    both = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    large = texture(session, width=64, height=64, usage=both, data=None)
    small = rebuild(describe(large), session.device, None)  # pyright: ignore[reportArgumentType]
    assert (small.width, small.height, small.format, small.desc.usage) == (1, 1, large.format, large.desc.usage)
    blocks = texture(session, format=spy.Format.bc1_unorm, width=64, height=64, data=None)
    assert rebuild(describe(blocks), session.device, None).width == 4  # pyright: ignore[reportArgumentType]
    row = rebuild(describe(buffer(session)), session.device, None)  # pyright: ignore[reportArgumentType]
    assert (row.size, row.struct_size) == (4, 4)
