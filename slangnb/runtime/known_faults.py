"""Faults of SlangPy that give wrong gradients, or never end, on some backends: found before the launch, in one place.

Measured with SlangPy 0.43.1 (Slang 2026.12). Other places name a fault where its remedy is general: the checks in
`checks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from slangnb.compiler.reading.calls import has_control_flow, reached
from slangnb.compiler.reading.doubles import function_of_double
from slangnb.compiler.reading.scan import masked
from slangnb.compiler.reading.switches import falls_through
from slangnb.compiler.reflection import TypeInfo
from slangnb.devices.backend import Backend
from slangnb.errors import CallError, CompileWarning, GradientError
from slangnb.runtime.binding import Bound
from slangnb.runtime.checks import has_gradient, leaves
from slangnb.runtime.saying import warn

if TYPE_CHECKING:
    from slangnb.runtime.target import Step

#: Threads of a wave.
CUDA_WAVE = 32
#: Those that Slang finds the mask for.
_WAVE_OPERATION = re.compile(
    r"\b(?:Wave(?!Mask|IsFirstLane|GetLane|GetConvergedMask|GetWave)|Quad(?=Read|Any|All))\w+(?=\s*(?:<[^<>]*>\s*)?\()"
)
_BRANCH = re.compile(r"\b(?:if|while|switch|do)\b|\?")


def check_branch_reads(backend: Backend, bound: Bound, texts: Iterable[str]) -> None:
    """Refuse a backward pass whose tensor reads stand in branches or loops, on Vulkan cards.

    There the gradient of a read inside a run-time branch, and of some inside loops, lands in element 0. Measured on
    an NVIDIA H100 (driver 580); CUDA on the same card and software Vulkan are right. Cards of other makers were not
    measured: for these it is a warning.

    Parameters
    ----------
    backend : Backend
        The session's backend.
    bound : Bound
        The call.
    texts : iterable of str
        Sources in which the function and what it calls may stand.

    Raises
    ------
    GradientError
        On an NVIDIA card's Vulkan backend.
    """
    if backend.name != "vulkan" or backend.software:
        return
    read = [
        s.parameter.name
        for s in bound.slots
        if s.parameter.type.carries_gradient and s.parameter.type.access != "write"
    ]
    if not read or not has_control_flow(bound.signature.name, texts):
        return
    name = bound.signature.name
    message = (
        f"{name}.bwds: on Vulkan cards SlangPy 0.43 puts gradients of {read[0]!r} into the wrong element "
        "when it is read inside a branch or a loop"
    )
    remedy = "take another backend: `%slang use cuda` or `%slang use software`"
    if backend.adapter.startswith("NVIDIA"):
        raise GradientError(message, function=name, argument=read[0], remedy=remedy)
    warn(f"{message} (measured on NVIDIA); {remedy}")


def check_wave_operations(backend: Backend, name: str, texts: Iterable[str], count: int) -> None:
    """Refuse wave operations for a part of a wave, on CUDA; warn of them beside branches.

    There Slang makes the kernel ask at each branch which threads took it, and wait for those that did not. Measured on
    an NVIDIA H200: 1000 calls of a function with ``WaveActiveSum`` never ended, 2^16 did. Operations that are given a
    mask are right.

    Parameters
    ----------
    backend : Backend
        The session's backend.
    name : str
        The function.
    texts : iterable of str
        Sources in which it, its derivatives and what they call may stand.
    count : int
        Calls of the function.

    Raises
    ------
    CallError
        If not all waves are whole.
    """
    if backend.name != "cuda":
        return
    run = [one for one in reached(name, texts, derivatives=True) if "__target_switch" not in one.body]
    found = next((found for one in run if (found := _WAVE_OPERATION.search(one.body))), None)
    if found is None:
        return
    operation = found[0]
    remedy = f"in {name}, write `WaveMaskSum(WaveGetConvergedMask(), x)` for `WaveActiveSum(x)`, and so on, for CUDA"
    if count % CUDA_WAVE:
        raise CallError(
            f"{name}: on CUDA, {operation} would wait for ever in the last wave: {count} elements are no multiple of "
            f"{CUDA_WAVE}",
            function=name,
            remedy=f"give a multiple of {CUDA_WAVE} elements; or {remedy}",
        )
    if any(_BRANCH.search(one.body) for one in run):
        message = f"{name}: on CUDA, {operation} waits for ever where threads take different branches; {remedy}"
        warn(message, CompileWarning)


def check_doubles(backend: Backend, name: str, texts: Iterable[str]) -> None:
    """Refuse functions of doubles that Vulkan does not have: they give any number at all, without a word.

    SPIR-V knows them for float and half alone. Measured on software Vulkan: ``sin(0.5)`` is 0. Square roots are right;
    ``atan`` and ``exp2`` are as exact as those of floats. Fields of structs, and generics, are not looked at.

    Parameters
    ----------
    backend : Backend
        The session's backend.
    name : str
        The function.
    texts : iterable of str
        Sources in which it, its derivatives and what they call may stand.

    Raises
    ------
    CallError
        If a double goes into such a function.
    """
    texts = list(texts)
    if backend.name != "vulkan" or not any("double" in text for text in texts):
        return
    run = reached(name, texts, derivatives=True)
    own = {one.declaration.name for one in run}
    found = next((f for one in run if (f := function_of_double(one.text)) and f not in own), "")
    if found:
        raise CallError(
            f"{name}: Vulkan has no {found} of a double: the result would be any number at all",
            function=name,
            remedy=f"compute it in float, as in `double({found}(float(x)))`; or take CUDA: `%slang use cuda`",
        )


def warn_of_overwritten_inputs(bound: Bound) -> None:
    """Warn of a backward pass through a tensor that was updated in place: it reads the values after the update.

    The gradient is right only where the derivative does not depend on them, as in ``data[i] = 2 * data[i]``.
    """
    for slot in bound.slots:
        if slot.parameter.type.carries_gradient and slot.parameter.type.access == "read_write":
            warn(
                f"{bound.signature.name}.bwds: {slot.parameter.name!r} is updated in place, so that the backward pass "
                "reads the overwritten values; restore the tensor's values from before the forward call first, or read "
                "one tensor and write another"
            )


def lacks_forward_derivative(name: str, texts: Iterable[str]) -> str:
    """Give the name of a function, among those that are called, that has a backward derivative of its own alone.

    Slang's forward mode takes such a function as a constant, without a word.
    """
    texts = list(texts)
    given = {which: derivatives_given(texts, which) for which in ("Backward", "Forward")}
    for d in (one.declaration for one in reached(name, texts)):
        own = [a.split("(")[0] for a in d.attributes]
        backward = "BackwardDerivative" in own or d.name in given["Backward"]
        if backward and "ForwardDerivative" not in own and d.name not in given["Forward"]:
            return d.name
    return ""


def case_that_falls_through(name: str, texts: Iterable[str]) -> tuple[str, str] | None:
    """Give a differentiable function, among those that are called, and the ``case`` of it that runs on into the next.

    Slang's forward mode adds the derivatives of cases that do not run then.
    """
    for one in reached(name, texts):
        if any(a.endswith("Differentiable") for a in one.declaration.attributes) and (case := falls_through(one.body)):
            return one.declaration.name, case
    return None


def derivatives_given(texts: Iterable[str], which: str) -> set[str]:
    """Name the functions whose derivatives stand elsewhere, as ``[BackwardDerivativeOf(f)]`` says."""
    return {name for text in texts for name in re.findall(rf"\b{which}DerivativeOf\s*\(\s*([\w:]+)", masked(text))}


def treated_as_differentiable(name: str, texts: Iterable[str]) -> str:
    """Give the name of a function, among those that are called, that is marked ``[TreatAsDifferentiable]``.

    In derivative code Slang 2026.12 takes the value of such a function as 0, not only its derivative.
    """
    for d in (one.declaration for one in reached(name, texts)):
        if "TreatAsDifferentiable" in d.attributes:
            return d.name
    return ""


def gradient_mark(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Step, ...]:
    """A comment in the kernel that tells which arguments carry gradients.

    SlangPy 0.43 caches kernels under a key without that, so that a call without gradients would poison the same
    call with them (it then returns zeros). The comment makes the keys differ.
    """
    import slangpy as spy

    marks = []
    for place, value in [*enumerate(args), *kwargs.items()]:
        for name, _, leaf in leaves(str(place), TypeInfo("", "other"), value):
            if isinstance(leaf, spy.Tensor) and has_gradient(leaf):
                marks.append(f"{name}:{leaf.grad_in is not None:d}{leaf.grad_out is not None:d}")
    return (("prelude", (f"// gradients {' '.join(marks)}",), {}),) if marks else ()
