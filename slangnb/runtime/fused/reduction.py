"""The kernels that add up what the groups, the copies of a gradient, or broadcast elements left. Pure text."""

from __future__ import annotations

import math
from functools import cache

from slangnb.runtime.fused.job import GROUP

REDUCE_ENTRY = "slangnb_reduce"
FOLD_ENTRY = "slangnb_fold"
#: Threads that add one row.
REDUCE_GROUP = 512
#: Terms that a thread reads before it adds them: each addition waits for the one before it, the reads need not.
READ_AHEAD = 8


def _add(scalar: str) -> str:
    """Neumaier's compensated sum: what a rounding loses is kept in `rest`."""
    return f"""
void add(inout {scalar} sum, inout {scalar} rest, {scalar} x)
{{
    {scalar} t = sum + x;
    rest += abs(sum) >= abs(x) ? (sum - t) + x : (x - t) + sum;
    sum = t;
    if (!isfinite(sum)) rest = 0.0;
}}
"""


@cache
def reduce_text(scalar: str, addressed: bool = False) -> str:
    """Write the kernel that adds each row of slots in a fixed order, one group of threads for a row.

    It gives the sum as two numbers, the rounded sum and what the rounding lost; if `addressed`, it gives one number,
    the sum times a factor, at an address.
    """
    target = f"uniform {scalar} factor, uniform {scalar}*" if addressed else f"RWStructuredBuffer<{scalar}>"
    stores = ["total[2 * group.x] = high[0];", "total[2 * group.x + 1] = low[0];"]
    if addressed:
        stores = ["total[group.x] = (high[0] + low[0]) * factor;"]
    store = "\n        ".join(stores)
    return f"""
groupshared {scalar} high[{REDUCE_GROUP}];
groupshared {scalar} low[{REDUCE_GROUP}];
{_add(scalar)}
[shader("compute")]
[numthreads({REDUCE_GROUP}, 1, 1)]
void {REDUCE_ENTRY}(uint3 thread : SV_GroupThreadID, uint3 group : SV_GroupID, uniform uint slots,
    StructuredBuffer<{scalar}> partial, {target} total)
{{
    {scalar} sum = 0.0;
    {scalar} rest = 0.0;
    for (uint i = thread.x; i < slots; i += {READ_AHEAD * REDUCE_GROUP})
    {{
        {scalar} terms[{READ_AHEAD}];
        [ForceUnroll]
        for (uint k = 0; k < {READ_AHEAD}; k++)
        {{
            uint at = i + k * {REDUCE_GROUP};
            terms[k] = at < slots ? partial[group.x * slots + at] : {scalar}(0.0);
        }}
        [ForceUnroll]
        for (uint k = 0; k < {READ_AHEAD}; k++)
            add(sum, rest, terms[k]);
    }}
    high[thread.x] = sum;
    low[thread.x] = rest;
    GroupMemoryBarrierWithGroupSync();
    for (uint width = {REDUCE_GROUP // 2}; width > 0; width /= 2)
    {{
        if (thread.x < width)
        {{
            sum = high[thread.x];
            rest = low[thread.x] + low[thread.x + width];
            add(sum, rest, high[thread.x + width]);
            high[thread.x] = sum;
            low[thread.x] = rest;
        }}
        GroupMemoryBarrierWithGroupSync();
    }}
    if (thread.x == 0)
    {{
        {store}
    }}
}}
"""


@cache
def fold_text(
    source: str,
    scalar: str,
    target: str,
    kept: int,
    folded: int,
    chunked: bool,
    accumulate: bool,
    addressed: bool = False,
) -> str:
    """Write the kernel that sums over some dimensions of an array.

    Parameters
    ----------
    source, scalar, target : str
        Scalar types of the array, of the sums, and of the result.
    kept, folded : int
        Number of dimensions that stay, and that are summed over.
    chunked : bool
        One thread for each chunk of the terms of a result, and a result for each; else one thread for each result.
    accumulate : bool
        Add to what the result holds.
    addressed : bool
        The result is given by its address.

    The buffer `layout` is made by `fold_layout`.
    """
    kept_lines = "\n".join(
        f"    {{ uint k = rest % layout[{5 + 3 * d}]; rest /= layout[{5 + 3 * d}];"
        f" from += k * layout[{6 + 3 * d}]; to += k * layout[{7 + 3 * d}]; }}"
        for d in range(kept - 1, -1, -1)
    )
    base = 5 + 3 * kept
    folded_lines = " ".join(
        f"{{ uint k = r % layout[{base + 2 * d}]; r /= layout[{base + 2 * d}]; at += k * layout[{base + 1 + 2 * d}]; }}"
        for d in range(folded - 1, -1, -1)
    )
    result = f"uniform {target}*" if addressed else f"RWStructuredBuffer<{target}>"
    return f"""
{_add(scalar)}
[shader("compute")]
[numthreads({GROUP}, 1, 1)]
void {FOLD_ENTRY}(uint3 thread : SV_DispatchThreadID, StructuredBuffer<uint> layout,
    StructuredBuffer<{source}> values, {result} result, uniform {scalar} factor)
{{
    if (thread.x >= layout[0]) return;
    uint terms = layout[1];
    uint chunks = layout[2];
    uint rest = thread.x / chunks;
    uint from = layout[3];
    uint to = layout[4];
{kept_lines}
    uint each = (terms + chunks - 1) / chunks;
    uint first = (thread.x % chunks) * each;
    {scalar} sum = 0.0;
    {scalar} lost = 0.0;
    for (uint term = first; term < min(terms, first + each); term++)
    {{
        uint r = term;
        uint at = from;
        {folded_lines}
        add(sum, lost, {scalar}(values[at]));
    }}
    result[{"thread.x" if chunked else "to"}] {"+=" if accumulate else "="} {target}((sum + lost) * factor);
}}
"""


#: Results times chunks that keep a device busy.
BUSY = 1 << 16


def fold_layout(
    kept: list[tuple[int, int, int]], folded: list[tuple[int, int]], start: int, to: int, chunked: bool
) -> list[int]:
    """Give the numbers that a fold kernel reads.

    Parameters
    ----------
    kept : list of (size, stride in the source, stride in the result)
    folded : list of (size, stride in the source)
    start, to : int
        Offsets in the source and in the result.
    chunked : bool
        Whether the terms of each result are divided among several threads.

    Examples
    --------
    >>> fold_layout([(3, 1, 1)], [(1000, 3)], 0, 0, False)
    [3, 1000, 1, 0, 0, 3, 1, 1, 1000, 3]
    """
    results, terms = math.prod(n for n, *_ in kept), math.prod(n for n, _ in folded)
    chunks = max(1, min(BUSY // results, terms // 16)) if chunked else 1
    flat = [n for dim in (*kept, *folded) for n in dim]
    return [results * chunks, terms, chunks, start, to, *flat]
