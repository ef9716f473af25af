"""What the kernels that measure tensors have in common: how an element is found, read and taken in. Pure text."""

from __future__ import annotations

INFINITY = "asfloat(0x7f800000u)"
NAN = "asfloat(0x7fc00000u)"
GROUP = 64
#: Numbers of a record of statistics: min, max, mean, squared deviations, squares, sum; finite, zeros, NaN, +Inf, -Inf.
REALS, COUNTS = 6, 5
#: Scalar types of storage with the type that elements are compared in: it holds each of them exactly.
KEYS = {
    "half": "float",
    "float": "float",
    "double": "double",
    "bool": "float",
    "int8_t": "float",
    "uint8_t": "float",
    "int16_t": "float",
    "uint16_t": "float",
    "int": "double",
    "uint": "double",
    "int64_t": "double",
    "uint64_t": "double",
}


def head(entry: str) -> str:
    """Begin a kernel of one axis; its other parameters follow."""
    return f'[shader("compute")]\n[numthreads({GROUP}, 1, 1)]\nvoid {entry}(uint3 thread : SV_DispatchThreadID'


def load(scalar: str, key: str, stored: str) -> str:
    """Write the function that turns what is stored into the type in which it is compared."""
    found = "x != 0 ? 1 : 0" if scalar == "bool" else "x"
    return f"{key} load({stored} x) {{ return {key}({found}); }}"


def axes(dimensions: int) -> str:
    """Write what is known of the view; `layout` holds count, threads, offset, then sizes and strides."""
    lines = [f"    uint size{d} = layout[{3 + d}];" for d in range(1, dimensions)]
    lines += [f"    uint stride{d} = layout[{3 + dimensions + d}];" for d in range(dimensions)]
    return "\n".join(
        ["    uint count = layout[0];", "    uint threads = layout[1];", "    uint start = layout[2];", *lines]
    )


def place(dimensions: int) -> str:
    """Write the place of the i-th element."""
    lines = [f"uint rest{dimensions} = i;"]
    terms = ["start"]
    for d in range(dimensions - 1, 0, -1):
        lines.append(f"uint rest{d} = rest{d + 1} / size{d};")
        terms.append(f"(rest{d + 1} % size{d}) * stride{d}")
    return " ".join([*lines, f"uint at = {' + '.join([*terms, 'rest1 * stride0'])};"])


def declared(key: str) -> str:
    """Write what a thread keeps of the elements it has seen.

    Squares are taken about a pivot, the first finite element of the thread. It belongs to what is measured, so that
    little is lost when the mean is taken off later. The plain sum is kept too: it is exact where numpy's is, so that
    a mean of exactly 0 is 0.
    """
    return f"""
    {key} low = {INFINITY};
    {key} high = -{INFINITY};
    double pivot = 0.0;
    double sum = 0.0;
    double moved = 0.0;
    double squares = 0.0;
    uint finite = 0, zeros = 0, nan = 0, above = 0, below = 0;
"""


def seen(scalar: str) -> str:
    """Write how an element `x` is taken in."""
    scaled = " * scale" if scalar == "double" else ""
    return f"""
        bool good = isfinite(x);
        // A loop, since software Vulkan skips one that no lane enters, and runs both sides of a branch.
        [loop] for (bool bad = !good; bad; bad = false)
        {{
            nan += uint(isnan(x));
            above += uint(x > 0);
            below += uint(x < 0);
        }}
        zeros += uint(x == 0);
        low = good ? min(low, x) : low;
        high = good ? max(high, x) : high;
        double w = good ? double(x){scaled} : 0.0;
        if (finite == 0) pivot = w;
        finite += uint(good);
        double away = good ? w - pivot : 0.0;
        sum += w;
        moved += away;
        squares += away * away;
"""


def recorded() -> str:
    """Write how a thread leaves its record."""
    return f"""
    double n = max(double(finite), 1.0);
    reals[{REALS} * t] = low;
    reals[{REALS} * t + 1] = high;
    reals[{REALS} * t + 2] = pivot + moved / n;
    reals[{REALS} * t + 3] = max(squares - moved * moved / n, 0.0);
    reals[{REALS} * t + 4] = max(squares + 2.0 * pivot * moved + double(finite) * pivot * pivot, 0.0);
    reals[{REALS} * t + 5] = sum;
    counts[{COUNTS} * t] = finite;
    counts[{COUNTS} * t + 1] = zeros;
    counts[{COUNTS} * t + 2] = nan;
    counts[{COUNTS} * t + 3] = above;
    counts[{COUNTS} * t + 4] = below;
"""
