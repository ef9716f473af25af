"""What the tests of slangtorch share: whether it can build here, and the documentation's example."""

from __future__ import annotations

import importlib.util
import os

from slangnb.interop.slangtorch.load import with_torch
from slangnb.interop.slangtorch.needs import find_compiler, missing, tools_without_torch


def lacking() -> str:
    """Say what building needs that is not here, "" for nothing."""
    tools = tools_without_torch(os.environ)
    if not missing(tools):
        import torch  # pyright: ignore[reportMissingImports]

        tools = with_torch(tools, torch)
    return "; ".join(what for what, _ in missing(tools))


def has_compiler() -> bool:
    """Tell whether slangtorch's Slang compiler is here."""
    path = find_compiler(os.environ) if importlib.util.find_spec("slangtorch") else None
    return path is not None and path.exists()


SQUARE = """[BackwardDifferentiable]
float square(float x)
{
    return x * x;
}

[CudaKernel]
void square_fwd_kernel(TensorView<float> input, TensorView<float> output)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();

    if (globalIdx.x >= input.size(0) || globalIdx.y >= input.size(1))
        return;
    float result = square(input.load(globalIdx.x, globalIdx.y));
    output.store(globalIdx.x, globalIdx.y, result);
}

[TorchEntryPoint]
TorchTensor<float> square_fwd(TorchTensor<float> input)
{
    var result = TorchTensor<float>.alloc(input.size(0), input.size(1));
    let blockCount = uint3(1);
    let groupSize = uint3(result.size(0), result.size(1), 1);
    __dispatch_kernel(square_fwd_kernel, blockCount, groupSize)(input, result);
    return result;
}

[CudaKernel]
void square_bwd_kernel(TensorView<float> input, TensorView<float> grad_in, TensorView<float> grad_output)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();

    if (globalIdx.x >= input.size(0) || globalIdx.y >= input.size(1))
        return;

    DifferentialPair<float> dpInput = diffPair(input.load(globalIdx.x, globalIdx.y));
    var gradInElem = grad_in.load(globalIdx.x, globalIdx.y);
    __bwd_diff(square)(dpInput, gradInElem);
    grad_output.store(globalIdx.x, globalIdx.y, dpInput.d);
}

[TorchEntryPoint]
TorchTensor<float> square_bwd(TorchTensor<float> input, TorchTensor<float> grad_in)
{
    var grad_out = TorchTensor<float>.alloc(input.size(0), input.size(1));
    let blockCount = uint3(1);
    let groupSize = uint3(input.size(0), input.size(1), 1);
    __dispatch_kernel(square_bwd_kernel, blockCount, groupSize)(input, grad_in, grad_out);
    return grad_out;
}
"""

#: Kernels that Python launches itself, and results of more than one tensor.
KERNELS = """struct Scale { float by; float plus; };

[AutoPyBindCUDA]
[CudaKernel]
void scaled(Scale scale, TensorView<float> input, TensorView<float> output)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i < input.size(0))
        output[i] = scale.by * input[i] + scale.plus + OFFSET;
}

[AutoPyBindCUDA]
[CudaKernel]
[Differentiable]
void cubed(DiffTensorView input, DiffTensorView output)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i < input.size(0))
        output[i] = input[i] * input[i] * input[i];
}

[CudaKernel]
void twice_kernel(TensorView<int> input, TensorView<int> output)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i < input.size(0))
        output[i] = 2 * input[i];
}

[TorchEntryPoint]
TorchTensor<int> twice(TorchTensor<int> input)
{
    var result = TorchTensor<int>.alloc(input.size(0));
    let groups = uint3((input.size(0) + 255) / 256, 1, 1);
    let size = uint3(256, 1, 1);
    __dispatch_kernel(twice_kernel, groups, size)(input, result);
    return result;
}

struct Pair { TorchTensor<int> first; TorchTensor<int> second; };

[TorchEntryPoint]
Pair both(TorchTensor<int> a, TorchTensor<int> b)
{
    Pair pair = { b, a };
    return pair;
}
"""
