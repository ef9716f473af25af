"""Sources built by slangtorch: what they compute, what is kept, and what wrong calls are answered."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from slangtorch_here import KERNELS, SQUARE, lacking

import slangnb as sn

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(lacking()), reason=f"slangtorch needs {lacking()}")]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("SLANGNB_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def torch() -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    return torch


@pytest.fixture(scope="module")
def square(cache: Path) -> Any:
    return sn.torch.load(SQUARE, "square", quiet=True)


@pytest.fixture(scope="module")
def kernels(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return sn.torch.load(KERNELS, "kernels", {"OFFSET": 10}, quiet=True)


def test_module_names_its_functions(square: Any) -> None:
    assert list(square) == ["square_fwd", "square_bwd"]
    assert repr(square) == "<slangtorch module square: square_fwd, square_bwd>"
    assert repr(square["square_fwd"]) == (
        "<slangtorch function TorchTensor<float> square_fwd(TorchTensor<float> input)>"
    )
    with pytest.raises(AttributeError, match="did you mean 'square_fwd'"):
        square.square_fw  # noqa: B018


def test_arguments_by_name(square: Any, torch: Any) -> None:
    x = torch.tensor([[3.0]], device="cuda")
    assert square.square_fwd(input=x).item() == 9.0
    assert square.square_bwd(x, grad_in=torch.full_like(x, 2.0)).item() == 12.0


def test_strided_tensors(square: Any, torch: Any) -> None:
    base = torch.arange(24.0, device="cuda").reshape(4, 6)
    for x in (base.t(), base[::2, 1::2], base[:, :1].expand(4, 5), torch.ones((), device="cuda").expand(1, 1)):
        assert torch.equal(square.square_fwd(x), x * x)


def test_gradient_of_a_strided_tensor(square: Any, torch: Any) -> None:
    function = sn.torch.autograd(square.square_fwd, square.square_bwd)
    base = torch.arange(6.0, device="cuda").reshape(2, 3).requires_grad_()
    (function.apply(base.t()) * torch.arange(6.0, device="cuda").reshape(3, 2)).sum().backward()
    right = 2 * base.detach() * torch.arange(6.0, device="cuda").reshape(3, 2).t()
    assert torch.equal(base.grad, right)


def test_wrong_dtypes(square: Any, kernels: Any, torch: Any) -> None:
    with pytest.raises(sn.CallError, match=r"(?s)'input' holds float64.*TorchTensor<float>.*pass input.float\(\)"):
        square.square_fwd(torch.ones(2, 2, device="cuda", dtype=torch.float64))
    with pytest.raises(sn.CallError, match=r"(?s)'input' holds int64.*pass input.float\(\)"):
        square.square_fwd(torch.ones(2, 2, device="cuda", dtype=torch.int64))
    with pytest.raises(sn.CallError, match=r"(?s)'input' holds float32.*TorchTensor<int>.*pass input.int\(\)"):
        kernels.twice(torch.ones(2, device="cuda"))


def test_wrong_arguments(square: Any, torch: Any) -> None:
    x = torch.ones(2, 2, device="cuda")
    with pytest.raises(sn.CallError, match="square_fwd takes 1 argument, 2 were given"):
        square.square_fwd(x, x)
    with pytest.raises(sn.CallError, match="'grad_in' is not given"):
        square.square_bwd(x)
    with pytest.raises(sn.CallError, match="did you mean 'input'"):
        square.square_fwd(inputs=x)
    with pytest.raises(sn.CallError, match="'input' is a list"):
        square.square_fwd([[1.0]])
    with pytest.raises(sn.CallError, match="give a tensor of 2 dimensions"):
        square.square_fwd(torch.ones(3, device="cuda"))


def test_launches_that_cuda_refuses(square: Any, torch: Any) -> None:
    for shape in ((0, 3), (64, 64)):
        with pytest.raises(sn.CallError, match=r"(?s)over 1024 threads, or a size is 0.*launch several groups"):
            square.square_fwd(torch.ones(*shape, device="cuda"))
    assert square.square_fwd(torch.full((2, 2), 3.0, device="cuda")).tolist() == [[9, 9], [9, 9]]  # CUDA still works


def test_a_lost_gradient_is_told(square: Any, torch: Any) -> None:
    x = torch.ones(2, 2, device="cuda", requires_grad=True)
    with pytest.warns(sn.GradientWarning, match=r"the result carries none.*sn.torch.autograd\(square_fwd"):
        square.square_fwd(x)
    with torch.no_grad():
        square.square_fwd(x)


def test_integer_tensors(kernels: Any, torch: Any) -> None:
    x = torch.arange(1000, device="cuda", dtype=torch.int32)
    assert torch.equal(kernels.twice(x), 2 * x)


def test_several_results(kernels: Any, torch: Any) -> None:
    a, b = (torch.tensor([k], device="cuda", dtype=torch.int32) for k in (1, 2))
    first, second = kernels.both(a, b)
    assert (first.item(), second.item()) == (2, 1)


def test_kernels_that_python_launches(kernels: Any, torch: Any) -> None:
    x = torch.arange(5.0, device="cuda")
    y = torch.zeros_like(x)
    kernels.scaled(scale=kernels.Scale(by=2.0, plus=1.0), input=x, output=y).launchRaw(
        blockSize=(32, 1, 1), gridSize=(1, 1, 1)
    )
    assert y.tolist() == [11.0, 13.0, 15.0, 17.0, 19.0]  # the macro OFFSET is 10
    launch = kernels.scaled((3.0, 0.0), x, y)
    assert "launchRaw" in repr(launch)
    launch.launchRaw((32, 1, 1), (1, 1, 1))
    assert y.tolist() == [10.0, 13.0, 16.0, 19.0, 22.0]
    with pytest.raises(sn.CallError, match="over 1024 threads"):
        kernels.scaled((3.0, 0.0), x, y).launchRaw((2048, 1, 1), (1, 1, 1))


def test_the_derivative_of_a_kernel(kernels: Any, torch: Any) -> None:
    x, y = torch.tensor([1.0, 2.0, 3.0], device="cuda"), torch.zeros(3, device="cuda")
    dx, dy = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
    kernels.cubed.bwd(input=(x, dx), output=(y, dy)).launchRaw((32, 1, 1), (1, 1, 1))
    assert dx.tolist() == [3.0, 12.0, 27.0]
    with pytest.raises(sn.GradientError, match="'input' has no gradient"):  # it would be written behind the end
        kernels.cubed.bwd(input=x, output=(y, dy))
    with pytest.raises(sn.CallError, match="scaled has no derivative"):
        kernels.scaled.bwd((1.0, 0.0), x, y)


def test_the_same_source_loads_in_milliseconds(square: Any, torch: Any) -> None:
    start = time.perf_counter()
    again = sn.torch.load(SQUARE, "square")
    seconds = time.perf_counter() - start
    assert seconds < 1.0
    assert again.square_fwd(torch.full((1, 1), 5.0, device="cuda")).item() == 25.0
    print(f"loaded again in {seconds * 1e3:.1f} ms")


def test_a_changed_source_is_built_anew(square: Any, torch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    changed = sn.torch.load(SQUARE.replace("return x * x;", "return x * x + 1;"), "square")
    assert capsys.readouterr().out.startswith("compiling square_fwd(input), square_bwd(input, grad_in) for PyTorch")
    x = torch.full((1, 1), 3.0, device="cuda")
    assert changed.square_fwd(x).item() == 10.0
    assert square.square_fwd(x).item() == 9.0  # the same names, and each its own kernel


def test_imports_includes_and_files(tmp_path: Path, torch: Any, session: Any) -> None:
    session.compile("public float from_a_cell(float x) { return x + 1; }", "torch_helpers")
    (tmp_path / "from_a_file.slang").write_text("public float from_a_file(float x) { return 10 * x; }")
    (tmp_path / "limit.h").write_text("#define LIMIT 100.0")
    body = """import torch_helpers;
import from_a_file;
#include "limit.h"
[CudaKernel] void run_kernel(TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i < x.size(0))
        y[i] = from_a_file(from_a_cell(x[i])) + LIMIT;
}
[TorchEntryPoint] TorchTensor<float> run(TorchTensor<float> x)
{
    var y = TorchTensor<float>.zerosLike(x);
    let one = uint3(1);
    let size = uint3(x.size(0), 1, 1);
    __dispatch_kernel(run_kernel, one, size)(x, y);
    return y;
}
"""
    x = torch.tensor([1.0, 2.0], device="cuda")
    assert sn.torch.load(body, include=(tmp_path,), quiet=True).run(x).tolist() == [120.0, 130.0]
    file = tmp_path / "whole.slang"
    file.write_text(body)
    module = sn.torch.load(str(file), quiet=True)
    assert repr(module) == "<slangtorch module whole.slang: run>"
    (tmp_path / "from_a_file.slang").write_text("public float from_a_file(float x) { return 20 * x; }")
    assert sn.torch.load(file, quiet=True).run(x).tolist() == [140.0, 160.0]


STOPPED = SQUARE.replace("return x * x;", "return x * x + 2;")


def test_the_stop_button_ends_every_compiler(torch: Any) -> None:
    started = threading.Event()

    def press() -> None:
        while not started.is_set():
            compilers = [
                p for p in psutil.Process().children(recursive=True) if p.name() in ("cc1plus", "cicc", "nvcc")
            ]
            if compilers:
                started.set()
                os.kill(os.getpid(), 2)
            time.sleep(0.02)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        sn.torch.load(STOPPED, quiet=True)
    thread.join(5)
    assert started.is_set()
    end = time.monotonic() + 5
    while compilers_that_run() and time.monotonic() < end:
        time.sleep(0.02)
    assert compilers_that_run() == []


def compilers_that_run() -> list[str]:
    """Name the compilers of this machine; one that has ended and was not waited for does not count."""
    names = ("ninja", "nvcc", "cicc", "cc1plus", "ptxas")
    found = [p.info for p in psutil.process_iter(["name", "status"])]
    return [i["name"] for i in found if i["name"] in names and i["status"] != psutil.STATUS_ZOMBIE]


def test_a_stopped_build_is_made_afterwards(torch: Any) -> None:
    """A lock that torch left behind would make this one wait forever."""
    module = sn.torch.load(STOPPED, quiet=True)
    assert module.square_fwd(torch.full((1, 1), 3.0, device="cuda")).item() == 11.0


def test_code_that_nvcc_refuses_is_placed(torch: Any) -> None:
    missing = 'void missing() { __target_switch { case cuda: __intrinsic_asm "no_such()"; default: return; } }\n'
    source = missing + SQUARE.replace("    float result = square", "    missing();\n    float result = square")
    with pytest.raises(sn.CompileError, match="no_such") as caught:
        sn.torch.load(source, "refused", quiet=True)
    print(caught.value.render(colour=False))
    (one,) = [d for d in caught.value.diagnostics if "no_such" in d.message]
    assert (one.file, one.source.strip()) == ("refused", "missing();")
