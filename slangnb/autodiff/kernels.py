"""Writes the Slang kernels of the transforms. Pure text: nothing here touches a device.

One thread takes several elements, a whole grid apart, so that neighbouring threads read neighbouring memory.
Per-element gradients are plain stores. What all threads share is summed per thread, then over the wave and the group,
and each group stores its sum in a slot of its own: no atomics, so no saturation, and the same bits at every run. A
second kernel adds the slots in a fixed order, with compensation.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from slangnb.compiler.reflection import Signature, TypeInfo, plain_name

GROUP = 256
ENTRY = "slangnb_value_and_grad"


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of the function as the kernel sees it.

    Attributes
    ----------
    name : str
        Of the parameter.
    type : TypeInfo
        A scalar, vector, matrix or array.
    each : bool
        True: one value for each element, in a buffer. False: one value for all, in a small buffer of its own.
    pair : bool
        Whether the derivative takes it as a `DifferentialPair`: its type is differentiable and it is not ``no_diff``.
    wanted : bool
        Whether its gradient is asked for.
    """

    name: str
    type: TypeInfo
    each: bool
    pair: bool
    wanted: bool


def components(t: TypeInfo) -> list[str]:
    """Give the index expressions of all scalar components of a type, in memory order.

    Examples
    --------
    >>> components(TypeInfo("matrix<float,2,2>", "matrix", "float", (2, 2)))
    ['[0][0]', '[0][1]', '[1][0]', '[1][1]']
    """
    return ["".join(f"[{i}]" for i in index) for index in itertools.product(*map(range, t.shape))]


def declare(t: TypeInfo, name: str) -> str:
    """Write a variable of a type; arrays carry their sizes behind the name.

    Examples
    --------
    >>> declare(TypeInfo("float[4]", "array", "float", (4,)), "v"), declare(TypeInfo("float", "scalar", "float"), "x")
    ('float v[4]', 'float x')
    """
    if t.kind != "array":
        return f"{plain_name(t.name)} {name}"
    base, sizes = t.name.split("[", 1)
    element = plain_name(base)
    return f"{element} {name}[{']['.join(reversed(sizes.rstrip(']').split('][')))}]"


def slots(signature: Signature, operands: Sequence[Operand]) -> list[tuple[str, int]]:
    """List what is reduced over all elements: the value, then each wanted shared operand, with component counts."""
    shared = [(o.name, len(components(o.type))) for o in operands if o.wanted and not o.each]
    return [("", 1), *shared]


def kernel_text(signature: Signature, module: str, operands: Sequence[Operand], per_thread: int, exact: bool) -> str:
    """Write the kernel that computes the sum of a function's values and its gradients.

    Parameters
    ----------
    signature : Signature
        Of the function.
    module : str
        Name of its module.
    operands : sequence of Operand
        In the order of the parameters.
    per_thread : int
        Elements that one thread takes.
    exact : bool
        Whether threads times `per_thread` is the number of elements, so that no bound needs to be checked.
    """
    uniforms = ["uint3 thread : SV_DispatchThreadID", "uint3 group : SV_GroupID", "uint local : SV_GroupIndex"]
    uniforms += ["uniform uint count", "uniform uint threads", "uniform uint groups", "uniform float seed"]
    uniforms += ["RWStructuredBuffer<float> partial"]
    before, each, after = [], [], []
    for o in operands:
        buffer, where = f"in_{o.name}", f"i * {len(components(o.type))}" if o.each else "0"
        uniforms.append(f"StructuredBuffer<{o.type.scalar}> {buffer}")
        load = [f"{declare(o.type, 'v_' + o.name)};"]
        load += [f"v_{o.name}{c} = {buffer}[{where} + {k}];" for k, c in enumerate(components(o.type))]
        (each if o.each else before).extend(load)
        if o.pair:
            each.append(f"var p_{o.name} = diffPair(v_{o.name});")
        if o.wanted and o.each:
            uniforms.append(f"RWStructuredBuffer<{o.type.scalar}> out_{o.name}")
            after += [f"out_{o.name}[{where} + {k}] = p_{o.name}.d{c};" for k, c in enumerate(components(o.type))]
        elif o.wanted:
            after += [f"sum_{o.name}_{k} += float(p_{o.name}.d{c});" for k, c in enumerate(components(o.type))]
    sums = [f"sum_{name}_{k}" for name, n in slots(signature, operands) for k in range(n)]
    r = signature.returns
    arguments = ", ".join(f"v_{o.name}" for o in operands)
    pairs = ", ".join([*(f"p_{o.name}" if o.pair else f"v_{o.name}" for o in operands), "upstream"])
    seeded = [f"{declare(r, 'upstream')};", *(f"upstream{c} = {r.scalar}(seed);" for c in components(r))]
    value = [f"let value = {signature.name}({arguments});"]
    value += [f"sum__0 += float(value{c});" for c in components(r)]
    body = [*each, *value, f"bwd_diff({signature.name})({pairs});", *after]
    bound = [] if exact else ["if (i >= count) break;"]
    lines = [
        f"import {module};",
        f"groupshared float sums[{len(sums)}][{GROUP}];",
        '[shader("compute")]',
        f"[numthreads({GROUP}, 1, 1)]",
        f"void {ENTRY}({', '.join(uniforms)})",
        "{",
        *(f"    float {s} = 0.0;" for s in sums),
        *(f"    {line}" for line in [*before, *seeded]),
        f"    for (uint k = 0; k < {per_thread}; k++)",
        "    {",
        "        uint i = thread.x + k * threads;",
        *(f"        {line}" for line in [*bound, *body]),
        "    }",
        "    uint wave = local / WaveGetLaneCount();",
    ]
    for k, name in enumerate(sums):
        lines += [
            f"    float wave_{k} = WaveActiveSum({name});",
            f"    if (WaveIsFirstLane()) sums[{k}][wave] = wave_{k};",
        ]
    lines += [
        "    GroupMemoryBarrierWithGroupSync();",
        f"    if (local < {len(sums)})",
        "    {",
        "        float sum = 0.0;",
        f"        for (uint w = 0; w < {GROUP} / WaveGetLaneCount(); w++) sum += sums[local][w];",
        "        partial[local * groups + group.x] = sum;",
        "    }",
        "}",
        "",
    ]
    return "\n".join(line for line in lines if line)


REDUCE_ENTRY = "slangnb_reduce"
#: Adds each row of `partial` in a fixed order; Neumaier's compensated sum per thread, then a tree over the group.
REDUCE_TEXT = f"""
groupshared float high[{GROUP}];
groupshared float low[{GROUP}];

void add(inout float sum, inout float rest, float x)
{{
    float t = sum + x;
    float lost = abs(sum) >= abs(x) ? (sum - t) + x : (x - t) + sum;
    rest += lost;
    sum = t;
}}

[shader("compute")]
[numthreads({GROUP}, 1, 1)]
void {REDUCE_ENTRY}(uint3 thread : SV_GroupThreadID, uint3 group : SV_GroupID, uniform uint groups,
    StructuredBuffer<float> partial, RWStructuredBuffer<float> total)
{{
    float sum = 0.0;
    float rest = 0.0;
    for (uint i = thread.x; i < groups; i += {GROUP})
        add(sum, rest, partial[group.x * groups + i]);
    high[thread.x] = sum;
    low[thread.x] = rest;
    GroupMemoryBarrierWithGroupSync();
    for (uint width = {GROUP // 2}; width > 0; width /= 2)
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
        total[2 * group.x] = high[0];
        total[2 * group.x + 1] = low[0];
    }}
}}
"""
