"""The kernels that measure and reduce a tensor where it lies. Pure text.

No kernel has a group barrier: each thread keeps what it finds in a slot of its own, and a second kernel folds the
slots. Sums are taken in double.
"""

from __future__ import annotations

from functools import cache

from slangnb.views.device_pieces import (
    COUNTS,
    INFINITY,
    KEYS,
    NAN,
    REALS,
    axes,
    declared,
    head,
    load,
    place,
    recorded,
    seen,
)

BINS = 64
#: Cells whose marks share one word, four bits each.
CELLS_PER_WORD = 8


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
{load(scalar, key, stored)}
{head("slangnb_stats")}, StructuredBuffer<uint> layout, uniform double scale,
    StructuredBuffer<{stored}> source, RWStructuredBuffer<double> reals, RWStructuredBuffer<uint> counts)
{{
{axes(dimensions)}
    uint t = thread.x;
    if (t >= threads) return;
{declared(key)}
    for (uint i = t; i < count; i += threads)
    {{
        {place(dimensions)}
        {key} x = load(source[at]);
{seen(scalar)}
    }}
{recorded()}
}}
"""


@cache
def stats_fold_text() -> str:
    """Write the kernel in which each of a few threads folds every n-th record of statistics."""
    counts = "\n".join(f"        folded[{k}] += counts[{COUNTS} * r + {k}];" for k in range(COUNTS))
    stores = "\n".join(f"    few_counts[{COUNTS} * t + {k}] = folded[{k}];" for k in range(COUNTS))
    return f"""
{head("slangnb_stats_fold")}, uniform uint records, uniform uint threads,
    StructuredBuffer<double> reals, StructuredBuffer<uint> counts,
    RWStructuredBuffer<double> few_reals, RWStructuredBuffer<uint> few_counts)
{{
    uint t = thread.x;
    if (t >= threads) return;
    double low = {INFINITY};
    double high = -{INFINITY};
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
{load(scalar, key, stored)}
{head("slangnb_histogram")}, StructuredBuffer<uint> layout, uniform {estimate} first, uniform {estimate} scale,
    StructuredBuffer<{key}> edges, StructuredBuffer<{stored}> source, RWStructuredBuffer<uint> bins)
{{
{axes(dimensions)}
    uint t = thread.x;
    if (t >= threads) return;
    uint own[{BINS}];
    for (uint b = 0; b < {BINS}; b++) own[b] = 0;
    for (uint i = t; i < count; i += threads)
    {{
        {place(dimensions)}
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
{head("slangnb_histogram_fold")}, uniform uint threads, uniform uint parts,
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
{load(scalar, key, stored)}
{head("slangnb_cells")}, StructuredBuffer<uint> layout, uniform double scale,
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
{declared(key)}
    while (r < rows)
    {{
        {key} x = load(source[begin + r * row_stride + c * column_stride]);
{seen(scalar)}
        r += next_r;
        c += next_c;
        if (c >= columns)
        {{
            c -= columns;
            r++;
        }}
    }}
{recorded()}
}}
"""


@cache
def cells_fold_text(key: str, tie: float) -> str:
    """Write the kernel that decides what is drawn of each cell.

    One thread takes as many cells as there are marks in a word. `mode` is 0 for the extreme about the mean, 1 for
    that about zero, 2 for both extremes.
    """
    return f"""
{head("slangnb_cells_fold")}, uniform uint cells, uniform uint parts, uniform uint mode, uniform double scale,
    StructuredBuffer<double> reals, StructuredBuffer<uint> counts,
    RWStructuredBuffer<{key}> drawn, RWStructuredBuffer<uint> words)
{{
    uint first = thread.x * {CELLS_PER_WORD};
    if (first >= cells) return;
    uint word = 0;
    for (uint k = 0; k < {CELLS_PER_WORD} && first + k < cells; k++)
    {{
        double low = {INFINITY};
        double high = -{INFINITY};
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
        {key} none = {NAN};
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
{load(scalar, given, stored)}
{head("slangnb_gather")}, StructuredBuffer<uint> layout, StructuredBuffer<{stored}> source,
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
