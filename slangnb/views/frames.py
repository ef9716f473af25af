"""What the live view is sent: a dict that describes the picture, and the bytes of its pixels. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from slangnb.views import text
from slangnb.views.axes import Axes, choosable, other_axes
from slangnb.views.measure import Array, Limits, Stats
from slangnb.views.measure import limits as exact_limits
from slangnb.views.model import PairModel, Role
from slangnb.views.palette import GRADIENT_MAP, MAGNITUDE_MAP, VALUE_MAPS
from slangnb.views.quantise import CODES, NAN, SIGN_LIMITS, centred, quantise, robust, signs, softness
from slangnb.views.source import Number, Part, Window

#: Numbers that go along with their colours, so that hovering asks nobody.
MOST_EXACT = 1 << 14
MOST_MARKS = 400

_CHOICES: dict[str, tuple[str, ...]] = {
    "values": VALUE_MAPS,
    "limits": ("exact", "robust", "shared", "symmetric"),
    "scale": ("linear", "symlog"),
    "mode": ("signed", "magnitude", "sign"),
}


@dataclass(frozen=True)
class Look:
    """How numbers become colours: what the selects under a view choose."""

    values: str = "viridis"
    limits: str = "exact"
    scale: str = "linear"
    mode: str = "signed"

    @classmethod
    def of(cls, chosen: Mapping[str, Any]) -> Look:
        """Read what a browser sent; what is not known is left as it is by default.

        Examples
        --------
        >>> Look.of({"limits": "robust", "scale": "cubic"})
        Look(values='viridis', limits='robust', scale='linear', mode='signed')
        """
        names = [f.name for f in fields(cls)]
        return cls(**{n: chosen[n] for n in names if chosen.get(n) in _CHOICES[n]})


def quick_stats(array: Array) -> Stats | None:
    """Measure a small array that is finite everywhere, about ten times as fast as `measure`; None otherwise.

    Examples
    --------
    >>> quick_stats(np.array([3.0, 4.0], np.float32)).norm, quick_stats(np.array([np.nan]))
    (5.0, None)
    """
    flat = array.reshape(-1)
    if not flat.size:
        return None
    low, high = float(np.min(flat)), float(np.max(flat))
    largest = max(abs(low), abs(high))
    # Squares of larger or smaller numbers leave the range of floats. With a NaN among the numbers both ends are NaN.
    if not (largest == 0 or 1e-100 < largest < 1e100):
        return None
    wide = flat.astype(np.float64)
    mean = float(np.mean(wide))
    # A product of vectors would start as many threads as there are cores, which costs more than it saves here.
    squares = float(np.add.reduce(np.square(wide)))
    spread = 0.0 if low == high else math.sqrt(max(0.0, squares / flat.size - mean * mean))
    zeros = flat.size - int(np.count_nonzero(flat))
    return Stats(flat.size, low, high, min(max(mean, low), high), spread, math.sqrt(squares), zeros, 0, 0, 0)


def choose_limits(look: Look, parts: Mapping[Role, Part], stats: Mapping[Role, Stats]) -> dict[Role, Limits]:
    """Choose what each colour scale covers; that of a gradient is always centred on zero."""
    found: dict[Role, Limits] = {}
    for role, part in parts.items():
        symmetric = role == "gradient"
        limits = exact_limits(stats[role], symmetric=symmetric)
        if look.limits == "robust":
            limits = robust(part.array, symmetric=symmetric) or limits
        found[role] = centred(limits) if look.limits in ("symmetric", "shared") else limits
    if look.limits == "shared":
        widest = max(found.values(), key=lambda one: one.hi)
        found = dict.fromkeys(found, widest)
    return found


def _marked(codes: Array) -> list[list[int]]:
    """Say where elements are not finite: layer, row, column, code; a lone one can be smaller than a pixel."""
    if codes.size == 0 or codes.max() < NAN:  # as nearly always; to look where they are takes longer
        return []
    where = np.argwhere(codes >= NAN)
    if not 0 < len(where) <= MOST_MARKS:
        return []
    return [[*at.tolist(), int(codes[tuple(at)])] for at in where]


def _image(role: Role, part: Part, limits: Limits, look: Look) -> tuple[dict[str, Any], bytes]:
    array = part.array if part.array.ndim == 3 else part.array[None]
    soft, table = softness(limits, look.scale), GRADIENT_MAP if role == "gradient" else "value"
    if role == "gradient" and look.mode == "magnitude":
        limits, table, array = Limits(0.0, limits.hi), MAGNITUDE_MAP, np.abs(array)
    if role == "gradient" and look.mode == "sign":
        codes, soft, limits = signs(array), 0.0, SIGN_LIMITS
    else:
        codes = quantise(array, limits, soft)
    # Blocks whose extreme element is finite can hold others that are not: they are marked all the same.
    marks = part.marks
    if array.shape[-1] and marks.any:
        for mask, code in zip(marks, CODES, strict=True):
            codes[mask.reshape(codes.shape)] = code
    layers, height, width = codes.shape
    about = {
        "layers": layers,
        "height": height,
        "width": width,
        "lo": limits.lo,
        "hi": limits.hi,
        "soft": soft,
        "table": table,
        "marks": _marked(codes),
    }
    return about, codes.tobytes()


def _colours(part: Part) -> tuple[dict[str, Any], bytes]:
    pixels = np.nan_to_num(np.clip(part.array[:3], 0, 1), nan=1.0)
    found = (pixels * 255 + 0.5).astype(np.uint8)
    layers, height, width = found.shape
    return {"layers": layers, "height": height, "width": width, "colours": True, "marks": []}, found.tobytes()


def _line(part: Part, limits: Limits) -> tuple[dict[str, Any], bytes]:
    layers, width = part.array.shape
    about = {"layers": layers, "height": 1, "width": width, "lo": limits.lo, "hi": limits.hi, "soft": 0.0}
    arrays: list[Array] = [part.array] if part.upper is None else [part.array, part.upper]
    if any(a.dtype == np.float64 for a in arrays):
        about["unit"], about["offset"], arrays = _scaled(arrays)
    marks = _marked(np.select([*part.marks], CODES, 0)[:, None])
    about |= {"upper": part.upper is not None, "marks": marks}
    return about, b"".join(np.ascontiguousarray(a, "<f4").tobytes() for a in arrays)


def _scaled(arrays: list[Array]) -> tuple[float, float, list[Array]]:
    """Bring numbers into the range of single precision: each is then unit * number + offset."""
    finite = np.concatenate([a[np.isfinite(a)] for a in arrays])
    low, high = float(finite.min()), float(finite.max())
    offset = low if high - low < 1e-4 * max(abs(low), abs(high)) else 0.0
    unit = math.ldexp(1.0, math.frexp(max(abs(low - offset), abs(high - offset)))[1] - 1)
    return unit, offset, [(a - offset) / unit for a in arrays]


def pixels(window: Window, look: Look, stats: Mapping[Role, Stats]) -> tuple[dict[str, Any], bytes]:
    """Write a window as bytes.

    Parameters
    ----------
    window : Window
    look : Look
    stats : dict
        Of the whole tensor, by role: limits do not change when one zooms.

    Returns
    -------
    about : dict
        Can be written as JSON.
    data : bytes
        Of each panel its codes (or its bytes of colour, or of a line its numbers), then of each its numbers, where
        they are few.
    """
    parts: dict[Role, Part] = {"value": window.value}
    if window.gradient is not None:
        parts["gradient"] = window.gradient
    limits = choose_limits(look, parts, stats)
    panels: list[dict[str, Any]] = []
    data: list[bytes] = []
    for role, part in parts.items():
        if window.kind == "line":
            about, raw = _line(part, limits[role])
        elif window.kind == "rgb" and role == "value":
            about, raw = _colours(part)
        else:
            about, raw = _image(role, part, limits[role], look)
        panels.append({"role": role, "mode": look.mode if role == "gradient" else "", **about})
        data.append(raw)
    few = window.steps == (1, 1) and max(p.array.size for p in parts.values()) <= MOST_EXACT
    few = few and all(p.array.dtype == np.float32 for p in parts.values())
    # What is drawn as colours is brought to 0 to 1, and may have gone through a gamma: it is not the elements.
    numbers = window.kind not in ("line", "rgb") and few
    if numbers:
        # Multiples of four, as a Float32Array wants them.
        data.append(b"\0" * (-sum(map(len, data)) % 4))
        data += [np.ascontiguousarray(p.array, "<f4").tobytes() for p in parts.values()]
    about = {
        "kind": window.kind,
        "rows": list(window.rows),
        "columns": list(window.columns),
        "steps": list(window.steps),
        "panels": panels,
        "exact": numbers,
    }
    return about, b"".join(data)


def words(model: PairModel, stats: Mapping[Role, Stats], note: str | None = None) -> dict[str, Any]:
    """Give what is written around the picture."""
    said = {role: text.statistics(s) + (f"  {s.not_finite}" if s.not_finite else "") for role, s in stats.items()}
    return {
        "name": model.name,
        "heading": text.heading(model),
        "note": model.note if note is None else note,
        # A gradient that is zero may only not have been computed yet: nothing is wrong with that.
        "calm": not any(s.not_finite for s in stats.values()),
        "caption": model.caption,
        "alt": text.alternative(model),
        "said": said,
        "labels": list(model.value.labels),
    }


def about_axes(axes: Axes, shape: tuple[int, ...], element: tuple[int, ...]) -> dict[str, Any]:
    """Give what the sliders and selects for axes need."""
    others = other_axes(axes, shape, element)
    whole = shape + element
    return {
        "sliders": [{"axis": a, "size": whole[a], "pick": p} for a, p in zip(others, axes.picks, strict=True)],
        "down": axes.rows,
        "across": axes.columns,
        "sizes": list(whole[: choosable(shape, element)]),
        "components": element[0] if len(element) == 1 and len(whole) - 1 not in (axes.rows, axes.columns) else 0,
        "component": axes.component,
    }


def place_of(axes: Axes, shape: tuple[int, ...], element: tuple[int, ...], row: int, column: int) -> tuple[int, ...]:
    """Give the index of what is under the cursor, over the axes of the tensor and those of its elements.

    Examples
    --------
    >>> place_of(Axes(1, 2, (4,)), (8, 64, 64), (), 5, 6)
    (4, 5, 6)
    """
    index = dict(zip(other_axes(axes, shape, element), axes.picks, strict=True))
    index[axes.columns] = column
    if axes.rows is not None:
        index[axes.rows] = row
    return tuple(index[i] for i in sorted(index) if i < len(shape) + len(element))


def spoken(found: Number | None, rest: tuple[int, ...], element: tuple[int, ...]) -> str | None:
    """Write an element with six significant digits; `rest` picks one of its numbers.

    Examples
    --------
    >>> spoken((1.0, 2.5), (), (2,)), spoken((1.0, 2.5), (1,), (2,)), spoken(1 / 3, (), ())
    ('(1, 2.5)', '2.5', '0.333333')
    """
    if found is None:
        return None
    if isinstance(found, tuple):
        if rest and len(rest) == len(element):
            return _six(found[int(np.ravel_multi_index(rest, element))])
        return "(" + ", ".join(map(_six, found)) + ")"
    return _six(found)


def _six(value: float) -> str:
    return str(value) if isinstance(value, (bool, int)) else f"{value + 0.0:.6g}"
