"""Faults of other backends, decided without them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import slangnb as sn
from slangnb.compiler.reading.calls import has_control_flow
from slangnb.compiler.reflection import Parameter, Signature, TypeInfo
from slangnb.devices.backend import Backend
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.known_faults import check_branch_reads, check_wave_operations

BRANCH = "float f(int i, DiffTensor<float, 1> u) { if (i > 0) return u[i]; return 0; }"
STRAIGHT = "float f(int i, DiffTensor<float, 1> u) { return u[i] * u[i + 1]; }"


def bound(kind: str = "DiffTensor<float, 1>", carries: bool = True) -> Bound:
    t = TypeInfo(kind, "tensor", "float", access="read", carries_gradient=carries)
    u = Parameter("u", t)
    return Bound(Signature("f", (u,), TypeInfo("float", "scalar", "float"), True), (Slot(u, None, 0),))


def test_nvidia_vulkan_refuses_reads_in_branches() -> None:
    card = Backend("vulkan", "NVIDIA H100 80GB HBM3")
    with pytest.raises(sn.GradientError, match="'u' into the wrong element"):
        check_branch_reads(card, bound(), [BRANCH])
    check_branch_reads(card, bound(), [STRAIGHT])
    check_branch_reads(card, bound("Tensor<float, 1>", carries=False), [BRANCH])


def test_other_cards_warn_and_other_backends_are_right() -> None:
    with pytest.warns(sn.GradientWarning, match="measured on NVIDIA"):
        check_branch_reads(Backend("vulkan", "AMD Radeon"), bound(), [BRANCH])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_branch_reads(Backend("cuda", "NVIDIA H100 80GB HBM3"), bound(), [BRANCH])
        check_branch_reads(Backend("vulkan", "llvmpipe", software=True), bound(), [BRANCH])


def test_control_flow_in_called_functions() -> None:
    helper = "float g(float x) { for (int i = 0; i < 3; i++) x += 1; return x; }"
    assert has_control_flow("f", ["float f(float x) { return g(x); }", helper])
    assert not has_control_flow("f", ["float f(float x) { return x; } // if (x)", helper])
    assert has_control_flow("f", [f"namespace n {{ {helper} }} float f(float x) {{ return n::g(x); }}"])


CUDA = Backend("cuda", "NVIDIA H100 80GB HBM3")
SUMMED = "void add(float d) {{ float s = {}(d); if (WaveIsFirstLane()) g(s); }} void b(float d) {{ add(d); }} "


@pytest.mark.parametrize(
    "source",
    [
        "float f(float x) { return WaveActiveSum(x); }",
        "float g(float x) { return WavePrefixSum<float>(x); } float f(float x) { return g(x); }",
        SUMMED.format("WaveActiveSum") + "[BackwardDerivative(b)] float f(float x) { return x; }",
        "float f(float x) { return x; } [BackwardDerivativeOf(f)] " + SUMMED.format("WaveActiveSum"),
        "float f(float x) { return QuadReadAcrossX(x); }",
    ],
)
def test_parts_of_waves_are_refused_on_cuda(source: str) -> None:
    with pytest.raises(
        sn.CallError, match=r"would wait for ever in the last wave: 1000 elements are no multiple of 32"
    ):
        check_wave_operations(CUDA, "f", [source], 1000)
    for backend in (Backend("vulkan", "NVIDIA H100 80GB HBM3"), Backend("vulkan", "llvmpipe", software=True)):
        check_wave_operations(backend, "f", [source], 1000)


@pytest.mark.parametrize(
    "source",
    [
        "float f(float x) { return WaveMaskSum(WaveGetConvergedMask(), x); }",
        "float f(float x) { return WaveGetLaneCount() * x; } // WaveActiveSum(x)",
        "float f(float x) { return x; } float other(float x) { return WaveActiveSum(x); }",
        "float f(float x) { __target_switch { case cuda: return x; default: return WaveActiveSum(x); } }",
    ],
)
def test_masks_and_other_functions_pass(source: str) -> None:
    check_wave_operations(CUDA, "f", [source], 1000)


def test_layers_of_the_library_pass() -> None:
    library = (Path(__file__).parents[2] / "shaders" / "mlp.slang").read_text()
    for layer in ("linear", "dot", "tanh"):
        check_wave_operations(CUDA, layer, [library], 1000)
    with pytest.raises(sn.CallError, match="WaveActiveSum"):
        check_wave_operations(CUDA, "linear", [library.replace("__target_switch", "")], 1000)


def test_waves_beside_branches_are_warned_of() -> None:
    check_wave_operations(CUDA, "f", ["float f(float x) { return WaveActiveSum(x); }"], 1024)
    with pytest.warns(sn.CompileWarning, match=r"^f: on CUDA, WaveActiveSum waits for ever where threads take differ"):
        check_wave_operations(CUDA, "f", ["float f(float x) { return x > 0 ? WaveActiveSum(x) : x; }"], 1024)
