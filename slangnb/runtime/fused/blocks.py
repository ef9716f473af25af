"""Eight elements at a time, for software Vulkan. Pure text.

llvmpipe reads and writes memory number by number, and a number of 64 bits takes it no longer than one of 32. So a
thread takes eight elements that follow each other, and reads and writes their numbers in pairs: measured 2.5 times
faster. The body of the kernel stands eight times in its text, so this is for small functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from slangnb.compiler.reading.calls import LOOPS
from slangnb.runtime.fused.job import Job, Leaf, Output, components

BLOCK = 8
#: Types of 32 bits, and what makes them of 32 bits without a meaning.
WORDS = {"float": "asfloat", "int": "asint", "uint": "asuint"}
#: Letters of all functions that are reached: more would take long to compile.
MOST_LETTERS = 2000


def block_of(job: Job, count: int, texts: Iterable[str]) -> int:
    """Give the number of elements that a thread takes at a time.

    Parameters
    ----------
    job : Job
    count : int
        Elements of the call.
    texts : iterable of str
        The functions that are reached.
    """
    if count % BLOCK or job.accumulate or not any(map(is_paired, job.leaves)):
        return 1
    whole = re.sub(r"\s+", " ", " ".join(texts))
    return 1 if not whole or len(whole) > MOST_LETTERS or LOOPS.search(whole) else BLOCK


def is_paired(leaf: Leaf) -> bool:
    """Tell whether a leaf could be read in pairs."""
    return leaf.aligned and leaf.addressed and leaf.access == "each" and leaf.type.scalar in WORDS


def in_block(job: Job, leaf: Leaf) -> bool:
    """Tell whether a leaf is read, and its gradient written, in pairs."""
    return job.block > 1 and is_paired(leaf)


def block_name(pointer: str) -> str:
    """Name the numbers of a block by the address that they come from or go to."""
    return f"sn_block_{pointer}"


def blocks_read(job: Job) -> list[str]:
    """Read the numbers of the block that begins with element `sn_base`; declare what is written."""
    lines = []
    for leaf in job.leaves:
        if in_block(job, leaf):
            lines += _read(f"sn_in_{leaf.id}", leaf)
    return lines + [f"{kind} {block_name(name)}[{BLOCK * parts}];" for name, kind, parts in _written(job)]


def blocks_written(job: Job) -> list[str]:
    """Write the numbers of the block."""
    lines = []
    for name, _, parts in _written(job):
        here = block_name(name)
        lines += [
            "[ForceUnroll]",
            f"for (uint sn_m = 0; sn_m < {BLOCK * parts // 2}; sn_m++)",
            f"    ((uint64_t*){name})[sn_base / 2 * {parts} + sn_m] = "
            f"uint64_t(asuint({here}[2 * sn_m])) | (uint64_t(asuint({here}[2 * sn_m + 1])) << 32);",
        ]
    return lines


def _read(name: str, leaf: Leaf) -> list[str]:
    parts, scalar, here = len(leaf.parts), leaf.type.scalar, block_name(name)
    word = WORDS[scalar]
    return [
        f"{scalar} {here}[{BLOCK * parts}];",
        "[ForceUnroll]",
        f"for (uint sn_m = 0; sn_m < {BLOCK * parts // 2}; sn_m++)",
        "{",
        f"    uint64_t sn_pair = ((uint64_t*){name})[sn_base / 2 * {parts} + sn_m];",
        f"    {here}[2 * sn_m] = {word}(uint(sn_pair));",
        f"    {here}[2 * sn_m + 1] = {word}(uint(sn_pair >> 32));",
        "}",
    ]


def output_in_block(job: Job, o: Output) -> bool:
    """Tell whether a result is written in pairs."""
    return job.block > 1 and job.by_address(o) and o.type.scalar in WORDS


def _written(job: Job) -> list[tuple[str, str, int]]:
    """List the addresses that are written in pairs, with the type and the count of an element's numbers."""
    found = []
    if job.mode == "reverse":
        for a in job.arguments:
            found += [
                (f"sn_out_{leaf.id}", leaf.type.scalar, len(leaf.parts))
                for leaf in a.leaves
                if leaf.wanted and in_block(job, leaf)
            ]
    for o in job.outputs if job.stores else ():
        if output_in_block(job, o):
            names = [f"sn_out_o_{o.mark}"]
            names += [f"sn_tan_o_{o.mark}"] if job.mode == "tangent" and o.derivable else []
            found += [(name, o.type.scalar, len(components(o.type))) for name in names]
    return found
