"""The results as a picture: one panel for each workload, times on a logarithmic axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accuracy import Accuracy
from measure import Row
from report import error_text, groups, ratio, size_text, time_text

# Okabe and Ito's colours, which colour-blind readers tell apart. Ours, SlangPy's, all others, what is
# wrong, text, and SlangPy's in text.
BLUE, ORANGE, GREY, RED, INK, BROWN = "#0072B2", "#E69F00", "#8A8A8A", "#D55E00", "#222222", "#A66A00"
HEADINGS = {
    "forward": "Forward",
    "backward": "Backward",
    "value_and_grad": "Value and gradients",
    "mlp": "Neural network",
    "image": "Image",
    "small": "Small call",
}


def colour(name: str) -> str:
    """Give the colour of a candidate."""
    return BLUE if name.startswith("slangnb") else ORANGE if name.startswith("SlangPy") else GREY


def ink(name: str) -> str:
    """Give the colour of a candidate's name: darker where its own colour is too light to read."""
    return {GREY: INK, ORANGE: BROWN}.get(colour(name), colour(name))


def chosen(rows: list[Row]) -> list[list[Row]]:
    """Give the groups to draw: each workload at its largest size."""
    largest: dict[str, list[Row]] = {}
    for group in groups(rows):
        name = group[0].workload
        if name in HEADINGS and (name not in largest or largest[name][0].size < group[0].size):
            largest[name] = group
    return list(largest.values())


def _times(axes: Any, rows: list[Row]) -> None:
    """Draw one workload: a dot for each candidate, the quickest on top, its least time beside it."""
    first = rows[0]
    copy = next((r for r in rows if r.name.startswith("copy") and not r.failure), None)
    drawn = sorted((r for r in rows if r is not copy and not r.failure), key=lambda r: r.least)
    failed = [r for r in rows if r.failure]
    low = min([r.least for r in drawn] + ([copy.least] if copy else []))
    high = max(r.median for r in drawn)
    left, right = low / 1.6, high * (high / low) ** 0.55 * 1.8  # room for the labels
    for y, r in enumerate(drawn):
        axes.plot([left, r.least], [y, y], color=colour(r.name), lw=1.6, alpha=0.45, solid_capstyle="butt")
        axes.plot([r.least, r.median], [y, y], color=colour(r.name), lw=4, solid_capstyle="butt")
        axes.plot(r.least, y, "o", ms=8, color="white" if r.wrong else colour(r.name), mec=colour(r.name), mew=2)
        label = time_text(r.least)
        if not r.ours and math.isfinite(r.to_ours):
            label += f"  ({ratio(r.to_ours)}×)"
        beside = {"textcoords": "offset points", "va": "center", "bbox": {"fc": "white", "ec": "none", "pad": 0.8}}
        text = axes.annotate(label, (r.median, y), (10, 0), fontsize=9, color=INK, **beside)
        if r.wrong:
            worst = max(e for e in (r.value, r.parameters, r.elements) if not math.isnan(e))
            off = f"off by {error_text(worst).rstrip('!')}"
            axes.annotate(off, (1, 0.5), (8, 0), xycoords=text, fontsize=9, color=RED, **beside)
    for y, r in enumerate(failed, len(drawn)):
        short = r.failure if len(r.failure) < 40 else r.failure.partition(":")[0]
        axes.text(left * 1.05, y, short, va="center", fontsize=8.5, color=GREY, style="italic")
    names = [r.name for r in (*drawn, *failed)]
    axes.set_yticks(range(len(names)), names)
    for tick, r in zip(axes.get_yticklabels(), (*drawn, *failed), strict=True):
        tick.set_color(ink(r.name))
        tick.set_fontweight("bold" if r.ours else "normal")
    axes.set_ylim(len(names) - 0.4, -0.9)
    axes.set_xscale("log")
    axes.set_xlim(left, right)
    if copy:
        axes.axvline(copy.least, color=INK, lw=1, ls=(0, (3, 3)), zorder=0)
        axes.annotate(
            f"copy {time_text(copy.least)}",
            (copy.least, -0.62),
            (4, 0),
            textcoords="offset points",
            fontsize=8,
            va="center",
        )
    size = "" if first.workload in ("mlp", "image") else f", N = {_power(size_text(first.size))}"
    _title(axes, HEADINGS[first.workload], first.title + size)
    axes.xaxis.set_major_formatter(lambda x, _: time_text(x))


def _power(text: str) -> str:
    base, raised, power = text.partition("^")
    return f"${base}^{{{power}}}$" if raised else text


def _title(axes: Any, heading: str, text: str) -> None:
    axes.set_title(heading, loc="left", fontsize=12, fontweight="bold", color=INK, pad=22)
    axes.annotate(
        text, (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points", fontsize=9, color="#555555"
    )


def _spread(values: list[float], gap: float) -> list[float]:
    """Move positions apart so that labels do not cover each other; the order stays."""
    order = sorted(range(len(values)), key=values.__getitem__)
    placed = list(values)
    for before, after in itertools.pairwise(order):
        placed[after] = max(placed[after], placed[before] + gap)
    return placed


def _lines(axes: Any, series: dict[str, list[tuple[int, float, bool]]]) -> None:
    """Draw lines over the size, with their names at their right ends."""
    for name, points in series.items():
        sizes, values = [p[0] for p in points], [p[1] for p in points]
        front = colour(name) != GREY
        axes.plot(sizes, values, color=colour(name), lw=2.4 if front else 1.2, zorder=3 if front else 2)
        for size, value, full in points:
            axes.plot(
                size, value, "o", ms=7, color=colour(name) if full else "white", mec=colour(name), mew=1.8, zorder=4
            )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({p[0] for points in series.values() for p in points})
    axes.set_xticks(ticks, [_power(size_text(t)) for t in ticks])
    axes.minorticks_off()
    low, high = axes.get_ylim()
    ends = _spread([math.log(points[-1][1]) for points in series.values()], math.log(high / low) / 15)
    for (name, points), end in zip(series.items(), ends, strict=True):
        axes.annotate(
            name, points[-1][:2], (points[-1][0] * (ticks[-1] / ticks[0]) ** 0.06 * 1.15, math.exp(end)),
            textcoords="data", va="center", fontsize=9, color=ink(name),
            arrowprops={"arrowstyle": "-", "color": "#BBBBBB", "lw": 0.7, "shrinkA": 0, "shrinkB": 6},
        )  # fmt: skip
    axes.set_xlim(ticks[0] / 1.4, ticks[-1] * (ticks[-1] / ticks[0]) ** 0.75 * 2)
    axes.set_xlabel("number of elements", fontsize=9, color="#555555")


def _accuracy(axes: Any, rows: list[Accuracy]) -> None:
    series: dict[str, list[tuple[int, float, bool]]] = {}
    for r in rows:
        if not r.failure:
            series.setdefault(r.name, []).append((r.size, max(r.gradient, 1e-10), r.same))
    _lines(axes, series)
    _title(axes, "Error of a shared parameter's gradient", "against float64; filled: the same bits at every run")
    axes.set_ylabel("relative error", fontsize=9, color="#555555")


def _scaling(axes: Any, rows: list[Row]) -> None:
    series: dict[str, list[tuple[int, float, bool]]] = {}
    for r in rows:
        if r.workload == "value_and_grad" and not r.failure:
            series.setdefault(r.name, []).append((r.size, r.least, not r.wrong))
    _lines(axes, series)
    _title(axes, "Value and gradients, by size", "filled: right to 1e-4")
    axes.yaxis.set_major_formatter(lambda y, _: time_text(y))


def plot(rows: list[Row], accuracy: list[Accuracy], machine: dict[str, str], path: Path) -> None:
    """Draw everything into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    panels: list[Callable[[Any], None]] = [
        lambda axes, group=group: _times(axes, group) for group in chosen(rows) if any(not r.failure for r in group)
    ]
    if len({r.size for r in rows if r.workload == "value_and_grad" and not r.failure}) > 1:
        panels.append(lambda axes: _scaling(axes, rows))
    if any(not a.failure for a in accuracy):
        panels.append(lambda axes: _accuracy(axes, accuracy))
    if not panels:
        return
    columns = 2 if len(panels) > 1 else 1
    lines = math.ceil(len(panels) / columns)
    layout = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.15, hspace=0.04, wspace=0.04)
    figure = Figure(figsize=(7.6 * columns, 3.6 * lines + 0.7), dpi=110, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    figure.suptitle(
        f"{machine['backend']}: dots are the least time of a call, with a thick line to the median; in brackets: in "
        "units of slangnb's; open: wrong",
        x=0.01,
        ha="left",
        fontsize=11.5,
        color=INK,
    )
    for i, draw in enumerate(panels):
        axes = figure.add_subplot(lines, columns, i + 1)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color("#BBBBBB")
        axes.tick_params(axis="y", length=0, labelsize=9.5)
        axes.tick_params(axis="x", which="both", color="#BBBBBB", labelsize=8.5, labelcolor="#555555")
        axes.grid(axis="x", color="#E6E6E6", lw=0.8)
        axes.set_axisbelow(True)
        draw(axes)
    figure.savefig(path)
