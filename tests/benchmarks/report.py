"""The results as a text table, as JSON and as a plot."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

from accuracy import REPEATS, Accuracy
from measure import Row

#: Heading, width and alignment of the columns; the name and the note stand left and right of them.
COLUMNS = ("least", "median", "/ copy", "/ slangnb", "value", "d param", "d x")


def size_text(n: int) -> str:
    """Write a number of elements.

    Examples
    --------
    >>> size_text(2**24), size_text(1000), size_text(1)
    ('2^24', '1000', '1')
    """
    power = n.bit_length() - 1
    return f"2^{power}" if n == 2**power and power > 4 else str(n)


def bytes_text(n: int) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> bytes_text(64 * 2**20), bytes_text(4)
    ('64 MiB', '4 B')
    """
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.4g} {unit}"
        n = n // 1024 if n % 1024 == 0 else n / 1024  # pyright: ignore[reportAssignmentType]
    return f"{n:.4g} GiB"


def time_text(seconds: float) -> str:
    """Write a time with its unit.

    Examples
    --------
    >>> time_text(0.00371), time_text(2.5e-5), time_text(12.0)
    ('3.71 ms', '25 µs', '12 s')
    """
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def ratio(x: float) -> str:
    """Write a ratio with about three digits; nothing where there is none.

    Examples
    --------
    >>> ratio(1188.57), ratio(2.345), ratio(0.0123)
    ('1189', '2.35', '0.012')
    """
    if math.isnan(x):
        return ""
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}" if x >= 0.1 else f"{x:.2g}"


def error_text(x: float) -> str:
    """Write an error, marked if rounding does not explain it; nothing where there is none.

    Examples
    --------
    >>> error_text(4.2e-4), error_text(3e-8), error_text(0.0), error_text(float("nan"))
    ('4e-4!', '3e-8', '0', '')
    """
    if math.isnan(x):
        return ""
    if x == 0 or math.isinf(x):
        return "0" if x == 0 else "inf!"
    digits, _, power = f"{x:.0e}".partition("e")
    return f"{digits}e{int(power)}" + ("!" if x > 1e-4 else "")


def _block(rows: list[Row]) -> list[str]:
    """Write the rows of one workload at one size, in one unit of time."""
    first = rows[0]
    slowest = max((r.median for r in rows if not r.failure), default=1.0)
    factor, unit = (1e3, "ms") if slowest > 1e-3 else (1e6, "µs")
    lines = [f"{first.workload}: {first.title}, N = {size_text(first.size)}, x has {bytes_text(first.nbytes)}"]
    heads = [f"{c} {unit}" if c in ("least", "median") else c for c in COLUMNS]
    lines.append(f"  {'':<26}" + "".join(f"{h:>11}" for h in heads) + "  note")
    for r in rows:
        if r.failure:
            lines.append(f"  {r.name:<26}  {r.failure[:110]}")
            continue
        note = r.note
        if first.workload == "copy":
            note = f"{note}{', ' if note else ''}{2 * r.nbytes / r.least / 1e9:.1f} GB/s"
        cells = [
            f"{r.least * factor:.4g}",
            f"{r.median * factor:.4g}",
            ratio(r.to_copy),
            ratio(r.to_ours),
        ]
        cells += [error_text(e) for e in (r.value, r.parameters, r.elements)]
        lines.append(f"  {r.name:<26}" + "".join(f"{c:>11}" for c in cells) + f"  {note}")
    return [*lines, ""]


def _accuracy(rows: list[Accuracy]) -> list[str]:
    lines = [f"accuracy: gradient to a number shared by all elements, worst of {REPEATS} runs against float64"]
    lines.append(f"  {'':<26}{'N':>11}{'value':>11}{'d a':>11}  all runs the same bits")
    for r in rows:
        if r.failure:
            lines.append(f"  {r.name:<26}{size_text(r.size):>11}  {r.failure[:100]}")
            continue
        cells = [error_text(e) for e in (r.value, r.gradient)]
        lines.append(
            f"  {r.name:<26}{size_text(r.size):>11}"
            + "".join(f"{c:>11}" for c in cells)
            + f"  {'yes' if r.same else 'no'}"
        )
    return [*lines, ""]


def groups(rows: list[Row]) -> list[list[Row]]:
    """Give the rows of each workload and size, in the order in which they ran."""
    found: dict[tuple[str, int], list[Row]] = {}
    for r in rows:
        found.setdefault((r.workload, r.size), []).append(r)
    return list(found.values())


LEGEND = """\
least, median: time of one call, over rounds in which the candidates take turns; results are new arrays on the device
/ copy: least in units of the least of copying x on the device; / slangnb: in units of slangnb's least
value, d param, d x: largest error of the value, of the gradients to shared arguments, and of the gradient to x, each
  in units of the largest float64 reference value; "!" marks what is off by more than 1e-4
"""


def table(rows: list[Row], accuracy: list[Accuracy], machine: dict[str, str]) -> str:
    """Write everything as text."""
    lines = [f"{k}: {v}" for k, v in machine.items()] + ["", LEGEND]
    for block in groups(rows):
        lines += _block(block)
    if accuracy:
        lines += _accuracy(accuracy)
    return "\n".join(lines)


def save(rows: list[Row], accuracy: list[Accuracy], machine: dict[str, str], folder: Path) -> None:
    """Write ``table.txt`` and ``results.json`` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.txt").write_text(table(rows, accuracy, machine), encoding="utf-8")

    def plain(fields: dict[str, object]) -> dict[str, object]:
        # JSON knows neither NaN nor infinity.
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}

    data = {
        "machine": machine,
        "times": [plain(asdict(r)) for r in rows],
        "accuracy": [plain(asdict(a)) for a in accuracy],
    }
    (folder / "results.json").write_text(json.dumps(data, indent=1), encoding="utf-8")
