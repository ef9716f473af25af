"""Which sources are slangtorch's, and the mistakes in them that its compiler reports badly or not at all."""

from __future__ import annotations

import pytest

from slangnb.compiler.source import Source
from slangnb.compiler.torch_source import element, exports, problems, torch_mark
from slangnb.errors import Diagnostic


def found(text: str) -> list[Diagnostic]:
    return problems(Source(text, "In[3]", 2))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("[TorchEntryPoint]\nTorchTensor<float> f(TorchTensor<float> x) { return x; }", "TorchEntryPoint"),
        ("float f(float x) { return x; }\n[ CudaKernel ]\nvoid k() {}", "CudaKernel"),
        ("[AutoPyBindCUDA] [CudaKernel] void k() {}", "AutoPyBindCUDA"),
        ("// [TorchEntryPoint]\nfloat f(float x) { return x; }", ""),
        ('/* [CudaKernel] */ static const String s = "[CudaKernel]";', ""),
        ("[Differentiable] float f(float x) { return x; }", ""),
        ("float[CudaKernelCount] a;", ""),
        ("", ""),
    ],
)
def test_attributes_tell_the_kind(text: str, mark: str) -> None:
    assert torch_mark(text) == mark


def test_exports_are_what_python_can_call() -> None:
    text = """
[CudaKernel] void inner(TensorView<float> x) {}
[AutoPyBindCUDA] [CudaKernel] void k(TensorView<float> x, float by) {}
[TorchEntryPoint]
public TorchTensor<float> f(TorchTensor<float> x) { return x; }
float helper(float x) { return x; }
"""
    assert [(d.name, [p.name for p in d.parameters]) for d in exports(text)] == [("k", ["x", "by"]), ("f", ["x"])]


@pytest.mark.parametrize(
    ("written", "name"), [("TorchTensor<float>", "float"), ("TensorView < int >", "int"), ("float3", ""), ("", "")]
)
def test_element_of_a_tensor_type(written: str, name: str) -> None:
    assert element(written) == name


def test_kernels_alone_cannot_be_called() -> None:
    (one,) = found(
        "float sq(float x) { return x * x; }\n[CudaKernel]\nvoid k(TensorView<float> x) { x[0] = sq(x[0]); }"
    )
    assert (one.line, one.column, one.length) == (4, 6, 1)
    assert "called from Python" in one.message
    assert one.remedy == "add [AutoPyBindCUDA] to k, or write a function with [TorchEntryPoint] that launches it"


def test_nothing_for_python_without_a_kernel() -> None:
    (one,) = found("float f(float x) { return x; }")
    assert one.line == 0 and "[TorchEntryPoint]" in one.remedy
    assert not found("import kernels;")  # they may be there


def test_half_a_binding_would_crash_the_compiler() -> None:
    (one,) = found("[AutoPyBindCUDA]\nvoid bound(TensorView<float> x) { x[0] = 1; }")
    assert (one.severity, one.line, one.column, one.length) == ("error", 3, 6, 5)
    assert one.remedy == "write both: `[AutoPyBindCUDA] [CudaKernel]`"


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("uint", "int"),
        ("uint64_t", "int64_t"),
        ("int8_t", "int16_t"),
        ("uint3", "int3"),
        ("float2x2", "float"),
    ],
)
def test_elements_that_slangtorch_has_not(name: str, instead: str) -> None:
    (one,) = found(f"[AutoPyBindCUDA] [CudaKernel]\nvoid k(TensorView<{name}> x) {{}}")
    assert (one.severity, one.line, one.column, one.length) == ("error", 3, 19, len(name))
    assert one.remedy.startswith(f"write TensorView<{instead}>")


BOUNDS = """[AutoPyBindCUDA] [CudaKernel]
void k(TensorView<float> input)
{{
    uint3 i = cudaThreadIdx();
    if ({})
        return;
}}"""


def test_the_slip_of_the_documentation() -> None:
    (one,) = found(BOUNDS.format("i.x > input.size(0) || i.x > input.size(1)"))
    assert (one.severity, one.line) == ("warning", 6) and "behind the end" in one.message
    assert one.remedy == "write `i.x >= input.size(0)`, and `i.y >= input.size(1)`"
    assert one.source[one.column - 1 :][: one.length] == "i.x > input.size(0) || i.x > input.size(1)"


def test_one_index_against_two_sizes() -> None:
    (one,) = found(BOUNDS.format("i.x >= input.size(0) || i.x >= input.size(1)"))
    assert one.message == "i.x is compared with two sizes."
    assert one.remedy == "write `i.y >= input.size(1)`"


@pytest.mark.parametrize(
    "check", ["i.x >= input.size(0) || i.y >= input.size(1)", "i.x >= input.size(1)", "i.z >= input.size(0)"]
)
def test_right_checks_are_left_alone(check: str) -> None:
    assert not found(BOUNDS.format(check))
