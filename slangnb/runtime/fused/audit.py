"""Compares reverse mode with forward mode once for each function: two ways of the compiler to the same derivative.

Slang 2026.12 has faults that make reverse mode alone wrong, without a word. Measured:

- A scalar that meets a vector on its right, as in ``p * x``, ``p + x`` or ``x + p``, gets no gradient from it.
- A loop that runs more often than its ``[MaxIters(n)]`` gives the derivative of another loop.

The audit calls the function for 64 random arguments, in one launch. Functions of scalars without a loop are passed
over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import Parameter, TypeInfo, plain_name
from slangnb.errors import CompileError, GradientError
from slangnb.runtime.fused.job import PLAIN_KINDS, declare, derivative_components
from slangnb.runtime.fused.stage import Stage, submit
from slangnb.runtime.fused.sums import storage
from slangnb.runtime.fused.values import DeviceArray, numbers
from slangnb.runtime.known_faults import LOOPS, reached

if TYPE_CHECKING:
    from slangnb.runtime.fused.engine import Call

ENTRY = "slangnb_audit"
SAMPLES = 64
#: For numbers that are on the device only: a loop that runs so often shows what is wrong with it.
UNSEEN = 3
#: Share of the finite samples that must disagree: roundings and kinks spoil a few, a fault spoils all.
MOST_DISAGREEING = 0.3
_VECTORS = re.compile(r"\b(?:float|half|double)[234](?:x[234])?\b|\b(?:vector|matrix)\s*<")
_OWN_DERIVATIVE = re.compile(r"\b(?:Backward|Forward|Primal)\w*(?:Derivative|Substitute)\w*\b|\bIDifferentiable\b")


def audit(call: Call) -> None:
    """Compare the derivatives of a function with each other, if it is of the kinds that Slang gets wrong.

    Nothing is said of functions with derivatives of their own, with tensors that they index, or with outputs.

    Raises
    ------
    GradientError
        If reverse mode is wrong for an argument.
    """
    signature = call.bound.signature
    integers = tuple((s.place, s.value) for s in call.bound.slots if type(s.value) is int)
    key = ("audit", call.loaded.name, call.text, call.prelude, id(signature), integers)
    if key not in call.session.audits:
        call.session.audits[key] = _audited(call)
    fault = call.session.audits[key]
    if fault is not None:
        raise GradientError(fault.message, function=fault.function, argument=fault.argument, remedy=fault.remedy)


def _audited(call: Call) -> GradientError | None:
    """Give what is wrong with the function of a call, or None."""
    signature = call.bound.signature
    texts = [text for _, text, _ in reached(signature.name, call.session.texts_of(call.owner))]
    if not can_audit(signature.parameters, signature.returns, texts):
        return None
    asked = [p for p in signature.parameters if p.derivable]
    text = audit_text(call.text, call.loaded.name, call.prelude, signature.parameters, signature.returns)
    try:
        kernel = call.session.kernel(text, ENTRY, call.owner)
    except CompileError:
        return None  # no forward mode: nothing to compare with
    stage = Stage(call.session.device, kernel)
    for p in signature.parameters:
        if p not in asked:
            stage.set(f"sn_in_{p.name}", _fixed(p, call))
    found = storage(call.session.device, SAMPLES * len(asked) * 8)
    stage.put("sn_found", found)
    stage.threads = SAMPLES
    call.session.wait(submit(call.session.device, [stage]))
    pairs = found.to_numpy().view(np.float32).reshape(SAMPLES, len(asked), 2).astype(np.float64)
    half = any("half" in text for text in texts)
    for k, p in enumerate(asked):
        wrong = disagreeing(pairs[:, k, 0], pairs[:, k, 1], 5e-2 if half else 1e-3)
        if wrong is not None:
            return _fault(signature.name, p, wrong, texts)
    return None


def can_audit(parameters: tuple[Parameter, ...], returns: TypeInfo, texts: list[str]) -> bool:
    """Tell whether a function is worth an audit, and one can be made."""
    joined = "\n".join(texts)
    if not (_VECTORS.search(joined) or LOOPS.search(joined)) or _OWN_DERIVATIVE.search(joined):
        return False
    if returns.kind not in PLAIN_KINDS or not returns.differentiable:
        return False
    for p in parameters:
        if p.io != "in" or p.type.kind not in PLAIN_KINDS:
            return False
        if not p.derivable and p.type.kind != "scalar":
            return False
    return any(p.derivable for p in parameters)


def disagreeing(forward: np.ndarray, reverse: np.ndarray, tolerance: float) -> tuple[float, float] | None:
    """Give the worst pair of derivatives if too many of them disagree, else None.

    Examples
    --------
    >>> disagreeing(np.array([6.0, 2.0]), np.array([0.0, 0.0]), 1e-3)
    (6.0, 0.0)
    >>> disagreeing(np.array([6.0, 2.0]), np.array([6.0, 2.0001]), 1e-3)
    """
    finite = np.isfinite(forward) & np.isfinite(reverse)
    f, r = forward[finite], reverse[finite]
    if not f.size:
        return None
    off = np.abs(f - r) > tolerance * (np.abs(f) + np.abs(r)) + 1e-5
    if off.mean() <= MOST_DISAGREEING:
        return None
    worst = int(np.argmax(np.abs(f - r)))
    return float(f[worst]), float(r[worst])


def _fixed(p: Parameter, call: Call) -> Any:
    """The value of an argument without derivative in this call; the first of several, where Python sees them."""
    value: Any = next((s.value for s in call.bound.slots if s.parameter.name == p.name), 1)
    if isinstance(value, DeviceArray):
        value = UNSEEN
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    return numbers(np.ravel(value)[0] if np.size(value) else 1, p.type).item()


def audit_text(call: str, module: str, prelude: str, parameters: tuple[Parameter, ...], returns: TypeInfo) -> str:
    """Write the kernel: for each sample and argument, the derivative in one direction by both modes."""
    asked = [p for p in parameters if p.derivable]
    fixed = [f"uniform {p.type.scalar} sn_in_{p.name}" for p in parameters if p not in asked]
    lines, seed = [], 0
    for p in parameters:
        lines.append(f"{declare(p.type, 'sn_v_' + p.name)};")
        if p not in asked:
            lines.append(f"sn_v_{p.name} = sn_in_{p.name};")
            continue
        for c, s in derivative_components(p.type):
            lines.append(f"sn_v_{p.name}{c} = {s}(sn_draw(sn_i, {seed}));")
            seed += 1
        lines.append(f"var sn_p_{p.name} = diffPair(sn_v_{p.name});")
    lines += [f"{declare(returns, 'sn_u')};", *(f"sn_u{c} = {s}(1.0);" for c, s in derivative_components(returns))]
    passed = ", ".join(f"sn_p_{p.name}" if p in asked else f"sn_v_{p.name}" for p in parameters)
    lines.append(f"bwd_diff({call})({passed}, sn_u);")
    for k, p in enumerate(asked):
        at = f"(sn_i * {len(asked)} + {k}) * 2"
        parts = derivative_components(p.type)
        weights = [f"{1.0 + 0.25 * j}" for j in range(len(parts))]
        lines.append(f"{declare(p.type, 'sn_t_' + p.name)};")
        lines += [f"sn_t_{p.name}{c} = {s}({w});" for (c, s), w in zip(parts, weights, strict=True)]
        moved = ", ".join(_moved(q, p, asked) for q in parameters)
        lines.append(f"let sn_f_{p.name} = fwd_diff({call})({moved});")
        rises = " + ".join(f"float(sn_f_{p.name}.d{c})" for c, _ in derivative_components(returns))
        products = " + ".join(f"float(sn_p_{p.name}.d{c}) * {w}" for (c, _), w in zip(parts, weights, strict=True))
        lines += [f"sn_found[{at}] = {rises};", f"sn_found[{at} + 1] = {products};"]
    body = "\n".join("    " + line for line in lines)
    heads = ["uint3 sn_thread : SV_DispatchThreadID", "RWStructuredBuffer<float> sn_found", *fixed]
    return f"""import {module};
{prelude}
float sn_draw(uint i, uint j)
{{
    uint h = (i * 1664525u + j * 22695477u + 1013904223u) * 747796405u + 2891336453u;
    h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
    return 0.3 + 1.7 * float(((h >> 22u) ^ h) & 0xffffffu) / 16777216.0;
}}
[shader("compute")]
[numthreads({SAMPLES}, 1, 1)]
void {ENTRY}({", ".join(heads)})
{{
    uint sn_i = sn_thread.x;
{body}
}}
"""


def _moved(q: Parameter, p: Parameter, asked: list[Parameter]) -> str:
    if q is p:
        return f"diffPair(sn_v_{q.name}, sn_t_{q.name})"
    return f"diffPair(sn_v_{q.name})" if q in asked else f"sn_v_{q.name}"


def _fault(name: str, p: Parameter, wrong: tuple[float, float], texts: list[str]) -> GradientError:
    joined = "\n".join(texts)
    if _VECTORS.search(joined) and p.type.kind == "scalar":
        kind = plain_name(p.type.name)
        why = "Slang 2026.12 loses the gradient of a scalar that meets a vector on its right, or in a sum"
        remedy = f"write `vector * {p.name}` for `{p.name} * vector`, and add `{kind}3({p.name})` for `{p.name}`"
    elif LOOPS.search(joined):
        why = "a loop seems to run more often than its [MaxIters(n)] says"
        remedy = "raise n to the largest number of rounds"
    else:
        why, remedy = "a fault of the Slang compiler", "write the expression in another way"
    return GradientError(
        f"{name}: reverse mode is wrong for {p.name!r}: for random arguments it gives {wrong[1]:.6g} where forward "
        f"mode gives {wrong[0]:.6g}; {why}",
        function=name,
        argument=p.name,
        remedy=remedy,
    )
