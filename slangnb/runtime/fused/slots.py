"""Writes how the sums of a kernel's threads come together. Pure text.

Each group, or each thread, leaves its sums in a slot of its own. What adds the slots is Python, another kernel
(`reduction`), or the group that comes last: that spares a launch, and is done on CUDA, whose memory model lets a group
read what all others wrote.
"""

from __future__ import annotations

from slangnb.runtime.fused.job import GROUP, Job, Rows

#: Sums that the group makes at a time: they share one piece of group memory.
CHUNK = 16
#: A group has at most this many waves: no device has waves of fewer than four threads.
MOST_WAVES = GROUP // 4
#: Slots of a row that Python adds by itself, on hardware and on software Vulkan: that costs less than another launch.
MOST_HOST_SLOTS, MOST_HOST_SLOTS_SOFTWARE = 16, 2048
#: Rows that the last group adds, at most: it adds them alone, and another kernel has a group for each.
MOST_ROWS_AT_LAST = 8
#: Slots that a thread of the last group reads before it adds them.
READ_AHEAD = 16
#: On CUDA, Slang's wave operations make every loop of the kernel keep a mask of its active threads; here all are.
_WAVE_SUM = """{0} sn_shuffled({0} x, int by)
{{
    __target_switch
    {{
        case cuda: __intrinsic_asm "__shfl_xor_sync(0xffffffffu, $0, $1)";
        default: return x;
    }}
}}
{0} sn_wave_sum({0} x)
{{
    __target_switch
    {{
        case cuda:
            [ForceUnroll]
            for (int by = 16; by > 0; by /= 2) x += sn_shuffled(x, by);
            return x;
        default: return WaveActiveSum(x);
    }}
}}"""


def slots_declared(job: Job, sums: Rows) -> list[str]:
    """What stands before the kernel."""
    if job.slots == "thread" or not sums.all:
        return []
    kinds = dict.fromkeys([*sums.scalars, "double"] if job.slots == "last" else sums.scalars)
    lines = [_WAVE_SUM.format(s) for s in kinds]
    lines += [f"groupshared {s} sn_shared_{s}[{CHUNK}][{MOST_WAVES}];" for s in kinds]
    return [*lines, "groupshared uint sn_before;"] if job.slots == "last" else lines


def slots_uniforms(job: Job, sums: Rows) -> list[str]:
    """The parameters of the kernel."""
    found = [f"RWStructuredBuffer<{s}> sn_partial_{s}" for s in sums.scalars]
    if job.slots == "last" and sums.all:
        found.append("RWStructuredBuffer<uint> sn_arrived")
        found += [
            f"{f'uniform {s}*' if job.addressed else f'RWStructuredBuffer<{s}>'} sn_total_{s}" for s in sums.scalars
        ]
    return found


def slots_filled(job: Job, sums: Rows) -> list[str]:
    """What each thread does after its elements."""
    if not sums.all:
        return []
    if job.slots == "thread":
        return _by_thread(sums)
    return _by_group(sums) + (_by_last(sums, job.addressed) if job.slots == "last" else [])


def _by_thread(sums: Rows) -> list[str]:
    """Store each thread's accumulators."""
    rows_of = [(s, k, r) for s in sums.scalars for k, r in enumerate(sums.of(s))]
    return [f"sn_partial_{s}[{k} * sn_slots + sn_group.x * {GROUP} + sn_local] = {r.id};" for s, k, r in rows_of]


def _by_group(sums: Rows) -> list[str]:
    """Add the accumulators over the wave, then over the group's waves, and store one sum for each group."""
    lines = ["uint sn_wave = sn_local / WaveGetLaneCount();", f"uint sn_waves = {GROUP} / WaveGetLaneCount();"]
    for scalar in sums.scalars:
        of = sums.of(scalar)
        for start in range(0, len(of), CHUNK):
            chunk = of[start : start + CHUNK]
            lines += ["GroupMemoryBarrierWithGroupSync();"] * (start > 0)
            lines += [line for k, r in enumerate(chunk) for line in _wave_added(r.id, scalar, k)]
            lines += [
                "GroupMemoryBarrierWithGroupSync();",
                f"if (sn_local < {len(chunk)})",
                "{",
                *_waves_added(scalar, "sn_local"),
                f"    sn_partial_{scalar}[({start} + sn_local) * sn_slots + sn_group.x] = sn_sum;",
                "}",
            ]
    return lines


def _wave_added(name: str, scalar: str, k: int) -> list[str]:
    """Add a variable over the wave; its sum goes to row `k` of the group's memory."""
    return [
        f"{name} = sn_wave_sum({name});",
        f"if (sn_local % WaveGetLaneCount() == 0) sn_shared_{scalar}[{k}][sn_wave] = {name};",
    ]


def _waves_added(scalar: str, row: str) -> list[str]:
    """Add a row of the group's memory."""
    return [
        f"    {scalar} sn_sum = 0.0;",
        f"    for (uint sn_w = 0; sn_w < sn_waves; sn_w++) sn_sum += sn_shared_{scalar}[{row}][sn_w];",
    ]


def _by_last(sums: Rows, addressed: bool) -> list[str]:
    """Count the groups; the last one adds all slots, in double, always in the same order."""
    found = [(s, k, r) for s in sums.scalars for k, r in enumerate(sums.of(s))]
    lines = [
        "GroupMemoryBarrierWithGroupSync();",
        "if (sn_local == 0)",
        "{",
        "    DeviceMemoryBarrier();",
        "    InterlockedAdd(sn_arrived[0], 1u, sn_before);",
        "    DeviceMemoryBarrier();",
        "}",
        "GroupMemoryBarrierWithGroupSync();",
        "if (sn_before + 1 == sn_slots)",
        "{",
    ]
    for n, (scalar, k, _) in enumerate(found):
        lines += [f"    {line}" for line in _slots_read(n, scalar, k)]
    lines.append("    GroupMemoryBarrierWithGroupSync();")
    for n, (scalar, k, _) in enumerate(found):
        lines += [f"    if (sn_local == {n})", "    {", *[f"    {line}" for line in _waves_added("double", f"{n}")]]
        if addressed:
            lines.append(f"        sn_total_{scalar}[{k}] = {scalar}(sn_sum * double(sn_factor));")
        else:
            lines += [
                f"        {scalar} sn_high = {scalar}(sn_sum);",
                f"        sn_total_{scalar}[{2 * k}] = sn_high;",
                f"        {scalar} sn_low = {scalar}(sn_sum - double(sn_high));",
                f"        sn_total_{scalar}[{2 * k + 1}] = isfinite(sn_high) ? sn_low : {scalar}(0.0);",
            ]
        lines.append("    }")
    return [*lines, "    if (sn_local == 0) sn_arrived[0] = 0;", "}"]


def _slots_read(n: int, scalar: str, k: int) -> list[str]:
    name = f"sn_all_{n}"
    return [
        f"double {name} = 0.0;",
        f"for (uint sn_s = sn_local; sn_s < sn_slots; sn_s += {READ_AHEAD * GROUP})",
        "{",
        f"    {scalar} sn_terms[{READ_AHEAD}];",
        "    [ForceUnroll]",
        f"    for (uint sn_t = 0; sn_t < {READ_AHEAD}; sn_t++)",
        "    {",
        f"        uint sn_at = sn_s + sn_t * {GROUP};",
        f"        sn_terms[sn_t] = sn_at < sn_slots ? sn_partial_{scalar}[{k} * sn_slots + sn_at] : {scalar}(0.0);",
        "    }",
        "    [ForceUnroll]",
        f"    for (uint sn_t = 0; sn_t < {READ_AHEAD}; sn_t++) {name} += double(sn_terms[sn_t]);",
        "}",
        *_wave_added(name, "double", n),
    ]


def who_adds(backend: str, rows: int, groups: int, addressed: bool) -> str:
    """Choose who leaves a sum in a slot, and whether the last group adds the slots; see `Job.slots`.

    Parameters
    ----------
    backend : str
        The backend's key, as in ``"software"``.
    rows, groups : int
        How many sums there are, and how many groups.
    addressed : bool
        Whether the sums stay on the device.

    Examples
    --------
    >>> who_adds("cuda", 2, 4096, False), who_adds("cuda", 2, 4, False), who_adds("software", 2, 4096, False)
    ('last', 'group', 'thread')
    """
    if backend == "software":
        # It runs a barrier by switching between all threads of the group: measured 3 times slower.
        return "thread"
    many = addressed or groups > MOST_HOST_SLOTS
    return "last" if backend == "cuda" and many and 0 < rows <= MOST_ROWS_AT_LAST else "group"
