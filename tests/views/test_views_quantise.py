"""Numbers as bytes: every number finds its step, and what is not finite has a code of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slangnb.views.measure import Limits
from slangnb.views.palette import VALUE_MAPS, palette, palettes
from slangnb.views.quantise import NAN, NEG_INF, POS_INF, STEPS, centred, quantise, robust, signs, softness


def numbers_of(codes: np.ndarray, limits: Limits, soft: float) -> np.ndarray:
    """Give the number in the middle of each step."""
    lo, hi = limits.lo, limits.hi
    if soft:
        lo, hi = math.asinh(lo / soft), math.asinh(hi / soft)
    share = np.arange(STEPS + 1) / STEPS
    steps = lo * (1 - share) + hi * share
    return (np.sinh(steps) * soft if soft else steps)[codes]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.uint8, np.bool_])
def test_each_type_of_number(dtype: type) -> None:
    values = np.array([0, 1], dtype)
    assert quantise(values, Limits(0.0, 1.0)).tolist() == [0, STEPS]


@pytest.mark.parametrize("scale", ["linear", "symlog"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_and_back_is_within_half_a_step(scale: str, dtype: type) -> None:
    values = np.random.default_rng(3).normal(size=5000).astype(dtype)
    limits = Limits(float(values.min()), float(values.max()))
    soft = softness(limits, scale)
    back = numbers_of(quantise(values, limits, soft), limits, soft)
    if soft:
        wide = values.astype(np.float64)
        away = np.abs(np.arcsinh(back / soft) - np.arcsinh(wide / soft)).max()
        step = (np.arcsinh(limits.hi / soft) - np.arcsinh(limits.lo / soft)) / STEPS
    else:
        away, step = np.abs(back - values).max(), (limits.hi - limits.lo) / STEPS
    assert away <= 0.5001 * step


def test_zero_of_a_symmetric_scale_is_in_the_middle() -> None:
    for reach in (1e-30, 0.3, 7.0, 1e30, 1e300):
        for soft in (0.0, softness(Limits(-reach, reach), "symlog")):
            assert quantise(np.zeros(1), Limits(-reach, reach), soft)[0] == STEPS // 2


def test_what_is_not_finite_keeps_its_kind() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0.5], np.float32)
    for limits in (Limits(0.0, 1.0), Limits(0.5, 0.5), Limits(-1e308, 1e308)):
        codes = quantise(values, limits)
        assert codes[:3].tolist() == [NAN, POS_INF, NEG_INF]
        assert codes[3] <= STEPS


def test_extreme_ranges_do_not_overflow() -> None:
    widest = np.finfo(np.float64).max
    codes = quantise(np.array([-widest, 0.0, widest]), Limits(-widest, widest))
    assert codes.tolist() == [0, STEPS // 2, STEPS]
    tiny = 5e-324
    assert quantise(np.array([tiny, tiny]), Limits(tiny, tiny)).tolist() == [STEPS // 2] * 2


def test_no_elements() -> None:
    assert quantise(np.zeros((0, 3)), Limits(0.0, 1.0)).shape == (0, 3)


def test_signs_of_the_smallest_numbers() -> None:
    codes = signs(np.array([-1e-40, 0.0, 1e-40, np.inf], np.float32))
    assert codes[0] < codes[1] == STEPS // 2 < codes[2] <= STEPS
    assert codes[3] == POS_INF


def test_robust_limits_leave_out_an_outlier() -> None:
    values = np.append(np.linspace(-1, 1, 1000), 1e6)
    found = robust(values)
    assert found is not None
    assert found.hi < 1
    assert robust(np.zeros(9)) is None
    symmetric = robust(values, symmetric=True)
    assert symmetric is not None
    assert symmetric.lo == -symmetric.hi
    assert centred(Limits(2.0, 3.0)) == Limits(-3.0, 3.0, True)


def test_palettes_are_those_of_the_static_pictures() -> None:
    from slangnb.views.style import colour_map

    tables = palettes()
    assert set(VALUE_MAPS) < set(tables)
    for role, name in (("value", "viridis"), ("gradient", "balance")):
        middle = np.frombuffer(tables[name], np.uint8).reshape(-1, 3)[STEPS // 2]
        wanted = np.array(colour_map(role)(0.5)[:3]) * 255  # pyright: ignore[reportArgumentType]
        assert np.abs(middle - wanted).max() <= 2
    white = np.frombuffer(palette("balance"), np.uint8).reshape(-1, 3)[STEPS // 2]
    assert white.min() > 240


def light(colours: np.ndarray) -> np.ndarray:
    """Give the relative luminance of colours, as the guidelines for contrast define it."""
    share = colours / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("name", ["balance-dark", "magnitude-dark"])
def test_on_dark_paper_zero_is_dark_and_what_is_farther_is_lighter(name: str) -> None:
    seen = light(np.frombuffer(palettes()[name], np.uint8).reshape(-1, 3))
    paper = float(light(np.array([0x11, 0x11, 0x11])))
    above = seen[STEPS // 2 :] if name == "balance-dark" else seen
    assert 1.5 < (above[0] + 0.05) / (paper + 0.05) < 2.0
    assert np.all(np.diff(above[::4]) > 0)
    assert (above[-1] + 0.05) / (above[0] + 0.05) > 7
    if name == "balance-dark":
        assert np.all(np.diff(seen[: STEPS // 2 : 4]) < 0)


def test_stored_pictures_are_small_and_look_the_same() -> None:
    import base64
    import io

    from PIL import Image

    from slangnb.views.array_source import ArraySource
    from slangnb.views.compact import compact
    from slangnb.views.figure import to_png
    from slangnb.views.pair import PairView
    from slangnb.views.still import STORED_DPI

    y, x = np.mgrid[:96, :144].astype(np.float32)
    one = ArraySource(np.sin(x / 15) * np.cos(y / 20), np.cos(x / 15), name="x")
    view = PairView([one.model()], sources=[one])
    small = base64.b64decode(view._repr_mimebundle_()[0]["image/png"])
    whole = to_png(view.models, STORED_DPI)
    assert len(small) < 0.6 * len(whole)
    sizes = [len(v) for v in view._repr_mimebundle_()[0].values()]
    assert 10 * sum(sizes) < 1_000_000
    before, after = (np.asarray(Image.open(io.BytesIO(p)).convert("RGB"), int) for p in (whole, small))
    assert np.abs(before - after).mean() < 1.5
    noise = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(noise, "PNG")
    assert compact(noise.getvalue()) == noise.getvalue()
