"""The kernel of the audit: for each sample and argument, the derivative in one direction and the result, both twice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from slangnb.compiler.reflection import PLAIN_KINDS, REAL, Parameter, Signature, TypeInfo, declare, plain_name
from slangnb.runtime.fused.derivatives import declare_derivative, forward_call, plain_call, reverse_call
from slangnb.runtime.fused.job import Output, components, derivative_components, outputs_of

ENTRY = "slangnb_audit"
#: Samples come in groups of so many.
THREADS = 64
#: What the kernel leaves of each sample and argument: the derivative by forward and by reverse mode, and the sum of the
#: magnitudes of their terms; the sum of the results as the function gives them, and as forward mode does; and how far
#: they rise by forward mode if nothing moves.
NUMBERS = 6

#: What a function may only read: `access` is known of tensors alone.
_RESOURCE = re.compile(r"(?:StructuredBuffer|Buffer|Texture\w+)<|(?:ByteAddressBuffer|Sampler(?:Comparison)?State)$")

_Call = tuple[str, Sequence[Parameter], Sequence[Output], Mapping[str, str]]


def numbers_of(t: TypeInfo) -> list[tuple[str, str]] | None:
    """Give the index expressions of all numbers of a type, each with its scalar type; None for types without.

    Examples
    --------
    >>> x, n = TypeInfo("float", "scalar", "float"), TypeInfo("vector<int,2>", "vector", "int", (2,))
    >>> numbers_of(TypeInfo("P", "struct", fields={"x": x, "n": n}))
    [('.x', 'float'), ('.n[0]', 'int'), ('.n[1]', 'int')]
    """
    if t.kind == "struct":
        found = []
        for name, inner in t.fields.items():
            parts = numbers_of(inner)
            if parts is None:
                return None
            found += [(f".{name}{rest}", scalar) for rest, scalar in parts]
        return found
    return [(rest, t.scalar) for rest in components(t)] if t.kind in PLAIN_KINDS else None


def tensor_of(t: TypeInfo) -> str:
    """Give the type by which the kernel takes a tensor that is only read; empty if it takes none.

    Examples
    --------
    >>> tensor_of(TypeInfo("ITensor<float, 1>", "tensor", "float", access="read", element="float", dims=1))
    'Tensor<float, 1>'
    >>> tensor_of(TypeInfo("DiffTensor<float, 1>", "tensor", "float", access="read", element="float", dims=1))
    ''
    """
    if t.kind != "tensor" or t.access != "read" or not t.name.startswith(("I", "Tensor<")):
        return ""
    return f"{'PrimalTensor' if t.carries_gradient else 'Tensor'}<{plain_name(t.element)}, {t.dims}>"


def uniform_of(t: TypeInfo) -> str:
    """Give the type by which the kernel takes a tensor, buffer or texture that is only read; empty if it takes none.

    Examples
    --------
    >>> uniform_of(TypeInfo("Texture2D<float>", "other")), uniform_of(TypeInfo("RWTexture2D<float>", "other"))
    ('Texture2D<float>', '')
    """
    return t.name if t.kind == "other" and _RESOURCE.match(t.name) else tensor_of(t)


def asked_of(signature: Signature) -> list[Parameter]:
    """List the parameters whose derivatives are compared."""
    return [p for p in signature.parameters if p.derivable and p.io != "out"]


def audit_text(call: str, modules: Sequence[str], prelude: str, signature: Signature) -> str:
    """Write the kernel.

    Parameters
    ----------
    call : str
        How the function is called.
    modules : sequence of str
        To import.
    prelude : str
        Text before the kernel.
    signature : Signature
        Of types that `numbers_of` or `uniform_of` knows.
    """
    parameters, outputs = signature.parameters, outputs_of(signature.returns, signature.parameters)
    lines = _loads(parameters)
    for o in outputs:
        if o.derivable:
            lines += [f"{declare_derivative(o.type, f'sn_u_{o.mark}')};"]
            lines += [f"sn_u_{o.mark}{c} = {s}(1.0);" for c, s in derivative_components(o.type)]
    called = (call, parameters, outputs, {p.name: f"sn_v_{p.name}" for p in parameters})
    lines += [*plain_call(*called), *reverse_call(*called), *forward_call(*called, {}, "sn_z_")]
    lines.append(f"float sn_still = {' + '.join(f'abs({rise})' for rise in _rises(_reals(outputs), 'sn_z_'))};")
    asked = asked_of(signature)
    for k, p in enumerate(asked):
        lines += ["{", *("    " + line for line in _forward(called, p, k, len(asked))), "}"]
    body = "\n".join("    " + line for line in lines)
    held = [f"uniform {kind} sn_v_{p.name}" for p in parameters if (kind := uniform_of(p.type))]
    tensors = any(p.type.kind == "tensor" for p in parameters)
    imports = "\n".join(f"import {m};" for m in (*["slangpy"] * tensors, *modules))
    return f"""{imports}
{prelude}
[shader("compute")]
[numthreads({THREADS}, 1, 1)]
void {ENTRY}(uint3 sn_thread : SV_DispatchThreadID, StructuredBuffer<float> sn_reals, StructuredBuffer<int> sn_whole,
    {", ".join([*held, "RWStructuredBuffer<float> sn_found"])})
{{
    uint sn_i = sn_thread.x;
{body}
}}
"""


def _loads(parameters: Sequence[Parameter]) -> list[str]:
    """Fill a variable for each argument from the samples."""
    lines, parts = [], [(p, numbers_of(p.type) or []) for p in parameters if p.io != "out" and not uniform_of(p.type)]
    reals = [scalar in REAL for _, own in parts for _, scalar in own]
    counts, at = (sum(reals), len(reals) - sum(reals)), [0, 0]
    for p, own in parts:
        lines.append(f"{declare(p.type, 'sn_v_' + p.name)};")
        for suffix, scalar in own:
            which = 0 if scalar in REAL else 1
            read = f"{('sn_reals', 'sn_whole')[which]}[sn_i * {counts[which]} + {at[which]}]"
            lines.append(f"sn_v_{p.name}{suffix} = {f'{read} != 0' if scalar == 'bool' else f'{scalar}({read})'};")
            at[which] += 1
    return lines


def _reals(outputs: Sequence[Output]) -> list[tuple[str, str]]:
    """List the numbers of the results that have derivatives: the output's mark, and the index expression."""
    return [(o.mark, c) for o in outputs if o.derivable for c, _ in derivative_components(o.type)]


def _rises(reals: Sequence[tuple[str, str]], prefix: str) -> list[str]:
    """List by how much each of them rises, as a forward call says."""
    return [f"float({prefix}{mark}.d{c})" for mark, c in reals]


def _forward(called: _Call, moved: Parameter, k: int, asked: int) -> list[str]:
    """Move one argument; compare how far the results rise with what its gradient says."""
    reals, parts = _reals(called[2]), derivative_components(moved.type)
    weights = [f"{1.0 + 0.25 * j}" for j in range(len(parts))]
    lines = [f"{declare_derivative(moved.type, 'sn_t')};"]
    lines += [f"sn_t{c} = {s}({w});" for (c, s), w in zip(parts, weights, strict=True)]
    lines += forward_call(*called, {moved.name: "sn_t"}, "sn_q_")
    rises = _rises(reals, "sn_q_")
    says = [f"float(sn_p_{moved.name}.d{c}) * {w}" for (c, _), w in zip(parts, weights, strict=True)]
    # For a value that is changed in place, the pair of reverse mode holds the gradient of what it was before.
    at = f"(sn_i * {asked} + {k}) * {NUMBERS}"
    sizes = [f"abs({term})" for term in (*rises, *says)]
    plain, primal = [f"float(sn_o_{mark}{c})" for mark, c in reals], [f"float(sn_q_{mark}.p{c})" for mark, c in reals]
    found = (rises, says, sizes, plain, primal, ["sn_still"])
    return [*lines, *(f"sn_found[{at} + {j}] = {' + '.join(terms)};" for j, terms in enumerate(found))]
