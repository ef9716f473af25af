"""The kernels that measure and reduce a tensor where it lies. Pure text.

No kernel has a group barrier: each thread keeps what it finds in a slot of its own, and a second kernel folds the
slots. Sums are taken in double.
"""

from __future__ import annotations

from functools import cache

GROUP = 64
BINS = 64
#: Numbers of a record of statistics: min, max, mean, squared deviations, squares, sum; finite, zeros, NaN, +Inf, -Inf.
REALS, COUNTS = 6, 5
#: Cells whose marks share one word, four bits each.
CELLS_PER_WORD = 8

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


def _head(entry: str) -> str:
    return f'[shader("compute")]\n[numthreads({GROUP}, 1, 1)]\nvoid {entry}(uint3 thread : SV_DispatchThreadID'


def _load(scalar: str, key: str, stored: str) -> str:
    found = "x != 0 ? 1 : 0" if scalar == "bool" else "x"
    return f"{key} load({stored} x) {{ return {key}({found}); }}"


def _axes(dimensions: int) -> str:
    """Write what is known of the view; `layout` holds count, threads, offset, then sizes and strides."""
    lines = [f"    uint size{d} = layout[{3 + d}];" for d in range(1, dimensions)]
    lines += [f"    uint stride{d} = layout[{3 + dimensions + d}];" for d in range(dimensions)]
    return "\n".join(
        ["    uint count = layout[0];", "    uint threads = layout[1];", "    uint start = layout[2];", *lines]
    )


def _place(dimensions: int) -> str:
    """Write the place of the i-th element."""
    lines = [f"uint rest{dimensions} = i;"]
    terms = ["start"]
    for d in range(dimensions - 1, 0, -1):
        lines.append(f"uint rest{d} = rest{d + 1} / size{d};")
        terms.append(f"(rest{d + 1} % size{d}) * stride{d}")
    return " ".join([*lines, f"uint at = {' + '.join([*terms, 'rest1 * stride0'])};"])


_INFINITY = "asfloat(0x7f800000u)"
_NAN = "asfloat(0x7fc00000u)"


def _declared(key: str) -> str:
    """Write what a thread keeps of the elements it has seen.

    Squares are taken about a pivot, the first finite element of the thread. It belongs to what is measured, so that
    little is lost when the mean is taken off later. The plain sum is kept too: it is exact where numpy's is, so that
    a mean of exactly 0 is 0.
    """
    return f"""
    {key} low = {_INFINITY};
    {key} high = -{_INFINITY};
    double pivot = 0.0;
    double sum = 0.0;
    double moved = 0.0;
    double squares = 0.0;
    uint finite = 0, zeros = 0, nan = 0, above = 0, below = 0;
"""


def _seen(scalar: str) -> str:
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


def _recorded() -> str:
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


@cache
def stats_text(scalar: str, stored: str, dimensions: int) -> str:
    """Write the kernel in which each thread measures every n-th element.

    Parameters
    ----------
    scalar, stored : str
        Scalar type of the tensor, and of the buffer.
    dimensions : int
        Of the view, after those that follow one another without a gap were joined.
    """
    key = KEYS[scalar]
    return f"""
{_load(scalar, key, stored)}
{_head("slangnb_stats")}, StructuredBuffer<uint> layout, uniform double scale,
    StructuredBuffer<{stored}> source, RWStructuredBuffer<double> reals, RWStructuredBuffer<uint> counts)
{{
{_axes(dimensions)}
    uint t = thread.x;
    if (t >= threads) return;
{_declared(key)}
    for (uint i = t; i < count; i += threads)
    {{
        {_place(dimensions)}
        {key} x = load(source[at]);
{_seen(scalar)}
    }}
{_recorded()}
}}
"""


@cache
def stats_fold_text() -> str:
    """Write the kernel in which each of a few threads folds every n-th record of statistics."""
    counts = "\n".join(f"        folded[{k}] += counts[{COUNTS} * r + {k}];" for k in range(COUNTS))
    stores = "\n".join(f"    few_counts[{COUNTS} * t + {k}] = folded[{k}];" for k in range(COUNTS))
    return f"""
{_head("slangnb_stats_fold")}, uniform uint records, uniform uint threads,
    StructuredBuffer<double> reals, StructuredBuffer<uint> counts,
    RWStructuredBuffer<double> few_reals, RWStructuredBuffer<uint> few_counts)
{{
    uint t = thread.x;
    if (t >= threads) return;
    double low = {_INFINITY};
    double high = -{_INFINITY};
    double mean = 0.0;
    double deviations = 0.0;
    double squares = 0.0;
    double sum = 0.0;
    uint folded[{COUNTS}] = {{ {", ".join(["0"] * COUNTS)} }};
    for (uint r = t; r < records; r += threads)
    {{
        uint finite = counts[{COUNTS} * r];
        if (finite > 0)
        {{
            low = min(low, reals[{REALS} * r]);
            high = max(high, reals[{REALS} * r + 1]);
            double more = double(finite) / (double(folded[0]) + double(finite));
            double away = reals[{REALS} * r + 2] - mean;
            mean += away * more;
            deviations += reals[{REALS} * r + 3] + away * away * double(folded[0]) * more;
            squares += reals[{REALS} * r + 4];
            sum += reals[{REALS} * r + 5];
        }}
{counts}
    }}
    few_reals[{REALS} * t] = low;
    few_reals[{REALS} * t + 1] = high;
    few_reals[{REALS} * t + 2] = mean;
    few_reals[{REALS} * t + 3] = deviations;
    few_reals[{REALS} * t + 4] = squares;
    few_reals[{REALS} * t + 5] = sum;
{stores}
}}
"""


@cache
def histogram_text(scalar: str, stored: str, dimensions: int, estimate: str) -> str:
    """Write the kernel in which each thread counts every n-th element into bins of its own.

    The edges decide, as they do in numpy, wherever the estimate is close to one.

    Parameters
    ----------
    estimate : {"float", "double"}
        Type in which a bin is estimated: float is faster, and right to 1e-5 of a bin.
    """
    key = KEYS[scalar]
    return f"""
{_load(scalar, key, stored)}
{_head("slangnb_histogram")}, StructuredBuffer<uint> layout, uniform {estimate} first, uniform {estimate} scale,
    StructuredBuffer<{key}> edges, StructuredBuffer<{stored}> source, RWStructuredBuffer<uint> bins)
{{
{_axes(dimensions)}
    uint t = thread.x;
    if (t >= threads) return;
    uint own[{BINS}];
    for (uint b = 0; b < {BINS}; b++) own[b] = 0;
    for (uint i = t; i < count; i += threads)
    {{
        {_place(dimensions)}
        {key} x = load(source[at]);
        bool good = isfinite(x);
        {estimate} y = good ? ({estimate}(x) - first) * scale : 0;
        uint b = min(uint(y), {BINS - 1}u);
        [loop] for (bool close = abs(y - round(y)) < 1e-4; close; close = false)
        {{
            uint more = x >= edges[b + 1] ? 1 : 0;
            uint less = x < edges[b] ? 1 : 0;
            b = min(b + more - less, {BINS - 1}u);
        }}
        if (good) own[b] += 1;
    }}
    for (uint b = 0; b < {BINS}; b++) bins[b * threads + t] = own[b];
}}
"""


@cache
def histogram_fold_text() -> str:
    """Write the kernel that adds the bins of the threads, with a few sums for each bin."""
    return f"""
{_head("slangnb_histogram_fold")}, uniform uint threads, uniform uint parts,
    StructuredBuffer<uint> bins, RWStructuredBuffer<uint> few)
{{
    uint t = thread.x;
    if (t >= {BINS} * parts) return;
    uint sum = 0;
    for (uint k = t % parts; k < threads; k += parts) sum += bins[(t / parts) * threads + k];
    few[t] = sum;
}}
"""


@cache
def cells_text(scalar: str, stored: str) -> str:
    """Write the kernel that measures each cell of a part, by one or more threads.

    `layout` holds layers, rows and columns of cells, threads for a cell, offset, and the strides of layers, rows
    and columns. Cell (r, c) goes from `down[r]` to `down[r + 1]` and from `across[c]` to `across[c + 1]`.
    """
    key = KEYS[scalar]
    return f"""
{_load(scalar, key, stored)}
{_head("slangnb_cells")}, StructuredBuffer<uint> layout, uniform double scale,
    StructuredBuffer<uint> down, StructuredBuffer<uint> across, StructuredBuffer<{stored}> source,
    RWStructuredBuffer<double> reals, RWStructuredBuffer<uint> counts)
{{
    uint tall = layout[1];
    uint wide = layout[2];
    uint parts = layout[3];
    uint t = thread.x;
    if (t >= layout[0] * tall * wide * parts) return;
    uint cell = t / parts;
    uint row = (cell / wide) % tall;
    uint column = cell % wide;
    uint row_stride = layout[6];
    uint column_stride = layout[7];
    uint begin = layout[4] + (cell / (tall * wide)) * layout[5] + down[row] * row_stride;
    begin += across[column] * column_stride;
    uint rows = down[row + 1] - down[row];
    uint columns = across[column + 1] - across[column];
    uint r = (t % parts) / columns;
    uint c = (t % parts) % columns;
    uint next_r = parts / columns;
    uint next_c = parts % columns;
{_declared(key)}
    while (r < rows)
    {{
        {key} x = load(source[begin + r * row_stride + c * column_stride]);
{_seen(scalar)}
        r += next_r;
        c += next_c;
        if (c >= columns)
        {{
            c -= columns;
            r++;
        }}
    }}
{_recorded()}
}}
"""


@cache
def cells_fold_text(key: str, tie: float) -> str:
    """Write the kernel that decides what is drawn of each cell.

    One thread takes as many cells as there are marks in a word. `mode` is 0 for the extreme about the mean, 1 for
    that about zero, 2 for both extremes.
    """
    return f"""
{_head("slangnb_cells_fold")}, uniform uint cells, uniform uint parts, uniform uint mode, uniform double scale,
    StructuredBuffer<double> reals, StructuredBuffer<uint> counts,
    RWStructuredBuffer<{key}> drawn, RWStructuredBuffer<uint> words)
{{
    uint first = thread.x * {CELLS_PER_WORD};
    if (first >= cells) return;
    uint word = 0;
    for (uint k = 0; k < {CELLS_PER_WORD} && first + k < cells; k++)
    {{
        double low = {_INFINITY};
        double high = -{_INFINITY};
        double sum = 0.0;
        uint finite = 0, found = 0;
        for (uint t = (first + k) * parts; t < (first + k + 1) * parts; t++)
        {{
            low = min(low, reals[{REALS} * t]);
            high = max(high, reals[{REALS} * t + 1]);
            sum += reals[{REALS} * t + 5];
            finite += counts[{COUNTS} * t];
            found |= counts[{COUNTS} * t + 2] > 0 ? 1 : 0;
            found |= counts[{COUNTS} * t + 3] > 0 ? 2 : 0;
            found |= counts[{COUNTS} * t + 4] > 0 ? 4 : 0;
        }}
        word |= found << (4 * k);
        {key} none = {_NAN};
        if (mode == 2)
        {{
            drawn[first + k] = finite > 0 ? {key}(low) : none;
            drawn[cells + first + k] = finite > 0 ? {key}(high) : none;
        }}
        else
        {{
            double centre = mode == 1 ? 0.0 : sum / max(double(finite), 1.0) / scale;
            double over = high / 2.0 - centre / 2.0;
            double under = centre / 2.0 - low / 2.0;
            drawn[first + k] = finite > 0 ? {key}(over >= under * {tie!r} ? high : low) : none;
        }}
    }}
    words[thread.x] = word;
}}
"""


@cache
def gather_text(scalar: str, stored: str, given: str) -> str:
    """Write the kernel that copies every n-th element of a part; `layout` as that of `cells_text`."""
    return f"""
{_load(scalar, given, stored)}
{_head("slangnb_gather")}, StructuredBuffer<uint> layout, StructuredBuffer<{stored}> source,
    RWStructuredBuffer<{given}> part)
{{
    uint tall = layout[1];
    uint wide = layout[2];
    uint t = thread.x;
    if (t >= layout[0] * tall * wide) return;
    uint at = layout[4] + (t / (tall * wide)) * layout[5] + ((t / wide) % tall) * layout[6] + (t % wide) * layout[7];
    part[t] = load(source[at]);
}}
"""
