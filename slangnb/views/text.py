"""Numbers and models in words: plain text, captions, alternative text. The same on every run and machine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.errors import CallError
from slangnb.views.measure import Array, Stats

if TYPE_CHECKING:
    from slangnb.views.model import PairModel, Panel

_EDGE = 3
_LONGEST = 12
_MOST_NESTED = 16


def number(value: float, digits: int = 4) -> str:
    """Write a number with a few significant digits; below a million without an exponent, whole numbers in full.

    Examples
    --------
    >>> number(5.4772256), number(124416.0), number(152.3, 2), number(-0.0)
    ('5.477', '124416', '152', '0')
    """
    if value == 0:
        return "0"
    if abs(value) < 1e6 and float(value).is_integer():
        return str(int(value))
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e6 else f"{value:.{digits}g}"


def _entry(value: object) -> str:
    if isinstance(value, (bool, int)):
        return str(value)
    if not isinstance(value, float):
        return str(value)
    written = f"{value + 0.0:.6g}"
    # numpy's way of telling 1.0 from 1.
    return written + "." if written.lstrip("-").isdigit() else written


def _nested(value: object) -> str:
    if isinstance(value, list):
        return "[" + " ".join(map(_nested, value)) + "]"
    return _entry(value)


def elements(array: Array) -> str:
    """Write the elements on one line with six significant digits.

    Lines longer than twelve elements keep three at each end; larger arrays of two or more axes are left out.

    Examples
    --------
    >>> import numpy as np
    >>> elements(np.array([1, 2.5], np.float32)), elements(np.arange(100))
    ('[1. 2.5]', '[0 1 2 ... 97 98 99]')
    """
    if array.ndim == 1 and array.size > _LONGEST:
        head, tail = array[:_EDGE].tolist(), array[-_EDGE:].tolist()
        return "[" + " ".join([*map(_entry, head), "...", *map(_entry, tail)]) + "]"
    if array.ndim > 1 and array.size > _MOST_NESTED:
        return ""
    return _nested(array.tolist())


def dtype_words(dtype: np.dtype[np.generic], element: tuple[int, ...] = ()) -> str:
    """Name an element type: numpy's name for a scalar, Slang's for vectors and matrices.

    Examples
    --------
    >>> import numpy as np
    >>> dtype_words(np.dtype("f4")), dtype_words(np.dtype("f2"), (3,)), dtype_words(np.dtype("f4"), (2, 2))
    ('float32', 'half3', 'float2x2')
    """
    if not element:
        return dtype.name
    slang = {"float32": "float", "float16": "half", "float64": "double", "int32": "int", "uint32": "uint"}
    base = slang.get(dtype.name, dtype.name)
    return base + "x".join(map(str, element)) if max(element) <= 4 else f"{base}[{']['.join(map(str, element))}]"


def device_words(device: Any) -> str:
    """Name a SlangPy device without versions and widths: "llvmpipe (LLVM 15.0.6, 256 bits)" is "llvmpipe"."""
    return device.info.adapter_name.split(" (", 1)[0].strip()


def mean(stats: Stats) -> str:
    """Write the mean; below the rounding of single precision it is only noise that differs between machines.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.measure import measure
    >>> mean(measure(np.array([1.0, -1.0, 1e-9]))), mean(measure(np.array([2.0, 3.0])))
    ('~0', '2.5')
    """
    if stats.mean is None or stats.min is None or stats.max is None:
        return "–"
    noise = 1e-6 * max(abs(stats.min), abs(stats.max))
    return "~0" if 0 < abs(stats.mean) < noise else number(stats.mean, digits(stats))


def digits(stats: Stats) -> int:
    """Give how many digits tell the smallest, the mean and the largest number apart, at least four.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.measure import measure
    >>> digits(measure(np.array([1e6, 1e6 + 4.5]))), digits(measure(np.array([0.0, 1e6])))
    (8, 4)
    """
    if stats.min is None or stats.max is None or stats.min == stats.max:
        return 4
    span, reach = stats.max / 2 - stats.min / 2, max(abs(stats.min), abs(stats.max)) / 2
    return min(max(4, math.ceil(math.log10(reach / span)) + 2), 17) if span else 17


def statistics(stats: Stats) -> str:
    """Write statistics on one line; what is zero or not finite only when there is some.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.measure import measure
    >>> statistics(measure(np.array([1.0, 2.0, 3.0, 4.0])))
    'min 1  max 4  mean 2.5  norm 5.477'
    >>> statistics(measure(1e6 + np.array([-2.25, 2.5])))
    'min 999997.75  max 1000002.5  mean 1000000.1  norm 1.414e+06'
    """
    if stats.empty:
        return "empty"
    parts: list[str] = []
    for word, value in (("min", stats.min), ("max", stats.max), ("mean", stats.mean), ("norm", stats.norm)):
        if value is not None:
            wanted = 4 if word == "norm" else digits(stats)
            parts.append(f"{word} {mean(stats) if word == 'mean' else number(value, wanted)}")
    if stats.zeros:
        parts.append(f"zeros {stats.zeros}")
    return "  ".join(parts) if parts else "no finite elements"


def heading(model: PairModel) -> str:
    """Say what is shown: "float32 (4,) on llvmpipe"."""
    words = [model.dtype]
    if model.value.kind != "scalar":
        words.append(str(model.shape))
    if model.device:
        words.append(f"on {model.device}")
    return " ".join(words)


def _range(panel: Panel) -> str:
    stats = panel.stats
    if stats.empty:
        return "empty"
    parts: list[str] = []
    if stats.min is not None and stats.max is not None:
        same, most = stats.min == stats.max, digits(stats)
        parts.append(number(stats.min) if same else f"from {number(stats.min, most)} to {number(stats.max, most)}")
        if same and stats.count > 1:
            parts[0] += " everywhere" if not stats.not_finite else " where finite"
    if stats.not_finite:
        parts.append(stats.not_finite)
    return ", ".join(parts)


def alternative(model: PairModel) -> str:
    """Describe the picture for those who do not see it.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> alternative(pair_model(np.arange(4.0), np.array([0, 0, np.nan, 2.0]), name="x"))
    'x: float64 (4,), value from 0 to 3; gradient from 0 to 2, 1 NaN'
    """
    said = f"{model.name}: {heading(model)}, value {_range(model.value)}"
    if model.gradient is not None:
        said += f"; gradient {_range(model.gradient)}"
    return f"{said}; {model.caption}" if model.caption else said


def plain(model: PairModel) -> str:
    """Write a model as a few lines of plain text.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> print(plain(pair_model(np.array([1.0, 2.0, 3.0, 4.0]), name="x")))
    x  float64 (4,)
      value     [1. 2. 3. 4.]  min 1  max 4  mean 2.5  norm 5.477
    """
    rows = [f"{model.name}  {heading(model)}"]
    for role, panel in model.panels:
        parts = [panel.text] if panel.text else []
        if panel.kind != "scalar" or panel.stats.empty:
            parts.append(statistics(panel.stats))
        if panel.stats.not_finite:
            parts.append(panel.stats.not_finite)
        rows.append(f"  {role:<8}  {'  '.join(parts)}")
    notes = "; ".join(said for said in (model.note, model.caption) if said)
    if notes:
        rows.append(f"  {'note':<8}  {notes}")
    return "\n".join(rows)


def no_array(name: str, error: Exception) -> CallError:
    """Say why numpy makes no array of something."""
    if "inhomogeneous" in str(error):
        return CallError(
            f"{name} holds lists of different lengths",
            remedy="give each of its lists as many numbers; to show several tensors write show(a, b)",
        )
    return CallError(
        f"{name} is not an array of numbers: {error}", remedy="give a tensor, a numpy array, or a list of numbers"
    )
