"""Faults of other backends, decided without them."""

from __future__ import annotations

import warnings

import pytest

import slangnb as sn
from slangnb.compiler.reading.calls import has_control_flow
from slangnb.compiler.reflection import Parameter, Signature, TypeInfo
from slangnb.devices.backend import Backend
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.known_faults import check_branch_reads

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
