"""Writes the Slang text of a job. Pure: nothing here touches a device.

A group takes a piece of the elements, and each of its threads every 256th of them, so that neighbouring threads read
neighbouring memory.
Gradients of single elements are plain stores. What all threads share is summed per thread, then over the wave and the
group, and each group stores its sum in a slot of its own (see `slots`): no atomics, so no saturation, and the same bits
at every run.

All names in a kernel begin with ``sn_``, so that they hide no function: ``sn_v_`` values, ``sn_t_`` tangents,
``sn_p_`` differential pairs, ``sn_o_`` results, ``sn_u_`` their upstream gradients, ``sn_in_`` and ``sn_out_`` buffers.
"""

from __future__ import annotations

from slangnb.compiler.reflection import Parameter, TypeInfo, declare, plain_name
from slangnb.runtime.fused.blocks import block_name, blocks_read, blocks_written, in_block, output_in_block
from slangnb.runtime.fused.derivatives import declare_derivative, forward_call, plain_call, reverse_call
from slangnb.runtime.fused.job import (
    GROUP,
    Argument,
    Job,
    Leaf,
    Output,
    Rows,
    accumulator,
    components,
    derivative_components,
    rows,
)
from slangnb.runtime.fused.slots import slots_declared, slots_filled, slots_uniforms

ENTRY = "slangnb_kernel"
#: Reads from an address. Nobody writes there while the kernel runs, and a read that says so need not wait for writes.
READ = """T sn_read<T>(T* from, uint at)
{
    __target_switch
    {
        case cuda: __intrinsic_asm "__ldg($0 + $1)";
        default: return from[at];
    }
}"""


def kernel_text(job: Job) -> str:
    """Write the kernel of a job: a module with the entry point `ENTRY`."""
    sums = rows(job)
    lines = [
        *(f"import {m};" for m in job.modules),
        job.prelude,
        READ if any(leaf.addressed for leaf in job.leaves) else "",
        *slots_declared(job, sums),
        '[shader("compute")]',
        f"[numthreads({GROUP}, 1, 1)]",
        f"void {ENTRY}({', '.join(_uniforms(job, sums))})",
        "{",
        *_indent(_before(job, sums)),
        *_indent(_by_element(job) if job.block == 1 else _by_block(job)),
        *_indent(slots_filled(job, sums)),
        "}",
        "",
    ]
    return "\n".join(line for line in lines if line)


def _by_element(job: Job) -> list[str]:
    """The loop over the elements of a thread."""
    return [
        f"uint sn_first = sn_group.x * {GROUP * job.per_thread} + sn_local;",
        f"for (uint sn_k = 0; sn_k < {job.per_thread}; sn_k++)",
        "{",
        f"    uint sn_i = sn_first + sn_k * {GROUP};",
        *([] if job.exact else ["    if (sn_i >= sn_count) break;"]),
        *_indent(_body(job)),
        "}",
    ]


def _by_block(job: Job) -> list[str]:
    """The same where a thread takes several elements at a time."""
    turns = job.per_thread // job.block
    return [
        f"uint sn_first = (sn_group.x * {GROUP * turns} + sn_local) * {job.block};",
        f"for (uint sn_k = 0; sn_k < {turns}; sn_k++)",
        "{",
        f"    uint sn_base = sn_first + sn_k * {GROUP * job.block};",
        *([] if job.exact else ["    if (sn_base >= sn_count) break;"]),
        *_indent(blocks_read(job)),
        "    [ForceUnroll]",
        f"    for (uint sn_j = 0; sn_j < {job.block}; sn_j++)",
        "    {",
        "        uint sn_i = sn_base + sn_j;",
        *_indent(_body(job), 2),
        "    }",
        *_indent(blocks_written(job)),
        "}",
    ]


def _indent(lines: list[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line for line in lines]


def _uniforms(job: Job, sums: Rows) -> list[str]:
    found = ["uint3 sn_group : SV_GroupID", "uint sn_local : SV_GroupIndex"]
    found += ["uniform uint sn_count", "uniform uint sn_slots"]
    if job.scaled:
        found.append(f"uniform {'double' if job.double else 'float'} sn_factor")
    found += slots_uniforms(job, sums)
    if job.rank:
        found.append("StructuredBuffer<uint> sn_layout")
    for leaf in job.leaves:
        found += _leaf_uniforms(job, leaf)
    for a in job.arguments:
        if a.tensor:
            found.append(f"uniform {a.tensor} sn_in_{a.name}")
        if a.wants_tensor_gradient:
            found += [f"uniform uint sn_copies_{a.name}", f"uniform uint sn_span_{a.name}"]
    for o in job.outputs if job.stores else ():
        found.append(f"{_writable(_stored(o.type), job.by_address(o))} sn_out_o_{o.mark}")
        if job.mode == "tangent" and o.derivable:
            found.append(f"{_writable(_derivative_name(o.type), job.by_address(o))} sn_tan_o_{o.mark}")
    return found


def _leaf_uniforms(job: Job, leaf: Leaf) -> list[str]:
    if leaf.access == "uniform":
        return [f"uniform {leaf.type.scalar} sn_in_{leaf.id}_{k}" for k in range(len(leaf.parts))]
    stored = "int" if leaf.type.scalar == "bool" else _stored(leaf.type)  # backends differ in the bytes of a bool
    found = [f"{f'uniform {stored}*' if leaf.addressed else f'StructuredBuffer<{stored}>'} sn_in_{leaf.id}"]
    if leaf.wanted and not leaf.shared and job.mode == "reverse":
        found.append(f"{_writable(_derivative_name(leaf.type), leaf.addressed)} sn_out_{leaf.id}")
    return found


def _writable(kind: str, addressed: bool) -> str:
    return f"uniform {kind}*" if addressed else f"RWStructuredBuffer<{kind}>"


def _stored(t: TypeInfo) -> str:
    """Buffers hold scalars, but structs whole."""
    return t.scalar or plain_name(t.name)


def _derivative_name(t: TypeInfo) -> str:
    return t.scalar or f"{plain_name(t.name)}.Differential"


def _before(job: Job, sums: Rows) -> list[str]:
    """What each thread does once: accumulators, strides, values that are the same for all elements, the seed."""
    lines = [f"{r.scalar} {r.id} = 0.0;" for r in sums.all]
    if job.rank:
        lines += [f"uint sn_size_{d} = sn_layout[{d}];" for d in range(1, job.rank)]
        at = job.rank
        for leaf in job.leaves:
            if leaf.access == "strided":
                names = [f"sn_offset_{leaf.id}", *(f"sn_stride_{leaf.id}_{d}" for d in range(job.rank))]
                lines += [f"uint {n} = sn_layout[{at + k}];" for k, n in enumerate(names)]
                at += job.rank + 1
    for a in job.arguments:
        if a.wants_tensor_gradient:
            # Groups, or threads, add into several copies: fewer collisions, and shorter sums in float.
            lines += [f"{a.tensor} sn_v_{a.name} = sn_in_{a.name};"]
            who = "sn_group.x" if job.slots == "group" else f"(sn_group.x * {GROUP} + sn_local)"
            lines += [f"sn_v_{a.name}._grad_out._offset += ({who} % sn_copies_{a.name}) * sn_span_{a.name};"]
        elif not a.tensor and a.uniform:
            lines += _load(job, a)
    if job.mode == "reverse":
        lines += [line for o in job.outputs if all(leaf.shared for leaf in o.seeds) for line in _upstream(job, o)]
    return lines


def _load(job: Job, a: Argument) -> list[str]:
    """Fill the variable of an argument, and its tangent."""
    if a.parameter.io == "out":
        return []
    lines = [f"{declare(a.parameter.type, 'sn_v_' + a.name)};"]
    for leaf in a.leaves:
        lines += _fill(job, leaf, f"sn_v_{a.name}")
    if a.tangents:
        lines += _zeroed(a.parameter.type, f"sn_t_{a.name}")
        for leaf in a.tangents:
            lines += _fill(job, leaf, f"sn_t_{a.name}")
    return lines


def _fill(job: Job, leaf: Leaf, variable: str) -> list[str]:
    if leaf.access == "uniform":
        return [f"{variable}{leaf.suffix}{c} = sn_in_{leaf.id}_{k};" for k, c in enumerate(leaf.parts)]
    where = _where(leaf)
    if leaf.whole:
        return [f"{variable}{leaf.suffix} = sn_in_{leaf.id}[{where}];"]
    if in_block(job, leaf):
        here, n = block_name(f"sn_in_{leaf.id}"), len(leaf.parts)
        return [f"{variable}{leaf.suffix}{c} = {here}[sn_j * {n} + {k}];" for k, c in enumerate(leaf.parts)]
    read = "sn_read({}, {})" if leaf.addressed else "{}[{}] != 0" if leaf.type.scalar == "bool" else "{}[{}]"
    return [
        f"{variable}{leaf.suffix}{c} = {read.format(f'sn_in_{leaf.id}', f'{where} + {k}')};"
        for k, c in enumerate(leaf.parts)
    ]


def _where(leaf: Leaf) -> str:
    if leaf.access == "one":
        return "0"
    if leaf.access == "strided":
        return f"sn_at_{leaf.id}"
    return "sn_i" if leaf.whole else f"sn_i * {len(leaf.parts)}"


def _zeroed(t: TypeInfo, name: str) -> list[str]:
    """Declare a variable of a type's derivative, zero in all parts."""
    return [f"{declare_derivative(t, name)};", *(f"{name}{c} = {s}(0.0);" for c, s in derivative_components(t))]


def _upstream(job: Job, o: Output) -> list[str]:
    """Declare the upstream gradient of a result: what the seeds say, or 1."""
    if not o.derivable:
        return []
    name = f"sn_u_{o.mark}"
    lines = _zeroed(o.type, name)
    if o.silent:
        return lines
    if not o.seeds:
        return [lines[0], *(f"{name}{c} = {s}(1.0);" for c, s in o.reals)]
    return [*lines, *(line for leaf in o.seeds for line in _fill(job, leaf, name))]


def _body(job: Job) -> list[str]:
    """What is done for element `sn_i`."""
    lines = _places(job)
    for a in job.arguments:
        if not a.tensor and not a.uniform:
            lines += _load(job, a)
    if job.mode == "tangent":
        return lines + _tangent(job)
    lines += [line for o in job.outputs if not all(leaf.shared for leaf in o.seeds) for line in _upstream(job, o)]
    if job.value or job.stores:
        lines += _values(job)
    return lines + _reverse(job) if job.mode == "reverse" else lines


def _places(job: Job) -> list[str]:
    """Where strided leaves find element `sn_i`."""
    if not job.rank:
        return []
    lines = ["uint sn_rest = sn_i;"]
    for d in range(job.rank - 1, 0, -1):
        lines += [f"uint sn_i_{d} = sn_rest % sn_size_{d};", f"sn_rest /= sn_size_{d};"]
    lines.append("uint sn_i_0 = sn_rest;")
    for leaf in job.leaves:
        if leaf.access == "strided":
            terms = [f"sn_i_{d} * sn_stride_{leaf.id}_{d}" for d in range(job.rank)]
            lines.append(f"uint sn_at_{leaf.id} = sn_offset_{leaf.id} + {' + '.join(terms)};")
    return lines


def _values(job: Job) -> list[str]:
    """Call the function; sum and store its results."""
    lines = plain_call(*_call(job))
    kind = "double" if job.double else "float"
    for o in job.outputs:
        if job.value and not o.silent:
            for c, _ in o.reals:
                times = f" * {kind}(sn_u_{o.mark}{c})" if o.seeds else ""
                lines.append(f"sn_sum_value += {kind}(sn_o_{o.mark}{c}){times};")
        if job.stores:
            lines += _store(job, o, f"sn_out_o_{o.mark}", f"sn_o_{o.mark}")
    return lines


def _call(job: Job) -> tuple[str, list[Parameter], tuple[Output, ...], dict[str, str]]:
    """Give what the calls of `derivatives` are written of."""
    values = {
        a.name: f"sn_in_{a.name}" if a.tensor and not a.wants_tensor_gradient else f"sn_v_{a.name}"
        for a in job.arguments
    }
    return job.call, [a.parameter for a in job.arguments], job.outputs, values


def _store(job: Job, o: Output, place: str, variable: str) -> list[str]:
    if o.type.kind == "struct":
        return [f"{place}[sn_i] = {variable};"]
    parts = components(o.type)
    to, at = (block_name(place), "sn_j") if output_in_block(job, o) else (place, "sn_i")
    return [f"{to}[{at} * {len(parts)} + {k}] = {variable}{c};" for k, c in enumerate(parts)]


def _reverse(job: Job) -> list[str]:
    """Call the derivative; store or sum the gradients."""
    lines = reverse_call(*_call(job))
    for a in job.arguments:
        for leaf in a.leaves:
            if leaf.wanted:
                lines += _gradient(job, leaf, f"sn_p_{a.name}.d{leaf.suffix}")
    return lines


def _gradient(job: Job, leaf: Leaf, d: str) -> list[str]:
    kind = accumulator(leaf.type.scalar)
    reals = derivative_components(leaf.type)
    sizes = [] if job.addressed else [f"sn_size_{leaf.id} += abs({kind}({d}{c}));" for c, _ in reals]
    if leaf.shared:
        return [*(f"sn_sum_{leaf.id}_{k} += {kind}({d}{c});" for k, c in enumerate(leaf.parts)), *sizes]

    def scaled(c: str, s: str) -> str:
        return f"{s}({accumulator(s)}({d}{c}) * {accumulator(s)}(sn_factor))"

    if leaf.whole:
        name = f"sn_d_{leaf.id}"
        return [
            *sizes,
            f"var {name} = {d};",
            *(f"{name}{c} = {scaled(c, s)};" for c, s in reals),
            f"sn_out_{leaf.id}[sn_i] = {name};",
        ]
    sign = "+=" if job.accumulate else "="
    n, place, at = len(leaf.parts), f"sn_out_{leaf.id}", "sn_i"
    if in_block(job, leaf):
        place, at = block_name(place), "sn_j"
    return [*sizes, *(f"{place}[{at} * {n} + {k}] {sign} {scaled(c, s)};" for k, (c, s) in enumerate(reals))]


def _tangent(job: Job) -> list[str]:
    """Call the forward derivative; store values and tangents."""
    tangents = {a.name: f"sn_t_{a.name}" for a in job.arguments if a.tangents}
    lines = forward_call(*_call(job), tangents, "sn_p_")
    for o in job.outputs:
        name = f"sn_p_{o.mark}"
        lines += _store(job, o, f"sn_out_o_{o.mark}", f"{name}.p" if o.derivable else name)
        if o.derivable:
            lines += _store(job, o, f"sn_tan_o_{o.mark}", f"{name}.d")
    return lines
