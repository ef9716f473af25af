"""Calls of slangtorch's functions and `sn.torch.autograd`, with plain functions in the place of built ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from slangtorch_here import SQUARE

import slangnb as sn
from slangnb.compiler.torch_source import exports
from slangnb.interop.slangtorch.module import Launch, TorchFunction, TorchModule, whole

torch = pytest.importorskip("torch", reason="torch is not installed")

DECLARED = {d.name: d for d in exports(SQUARE + "[AutoPyBindCUDA] [CudaKernel] void bound(int n, float by) {}")}


class Bound:
    """Stands for a kernel that slangtorch wraps: takes arguments by name."""

    argnames = ("n", "by")
    fwd_wrapped_fn = bwd_wrapped_fn = None

    def __init__(self) -> None:
        self.launched: list[Any] = []

    def __call__(self, **kwargs: Any) -> Any:
        return SimpleNamespace(launchRaw=lambda **how: self.launched.append((kwargs, how)))


@pytest.fixture
def module() -> TorchModule:
    raw = SimpleNamespace(
        square_bwd=lambda x, g: 2 * x * g, square_fwd=lambda x: x * x, bound=Bound(), Light=type("Light", (tuple,), {})
    )
    return TorchModule("In[3]", raw, DECLARED)


def test_names_in_the_order_of_the_source(module: TorchModule) -> None:
    assert list(module) == ["square_fwd", "square_bwd", "bound"]
    assert dir(module) == sorted(module)
    assert "square_fwd" in module and "Light" not in module
    assert isinstance(module["Light"], type) and isinstance(module.Light, type)
    assert repr(module) == "<slangtorch module In[3]: square_fwd, square_bwd, bound>"
    with pytest.raises(KeyError, match="did you mean 'square_bwd'"):
        module["square_bw"]
    with pytest.raises(AttributeError, match=r"In\[3\] has no function"):
        module.nothing  # noqa: B018


def test_a_function_says_what_it_is(module: TorchModule) -> None:
    import inspect

    f = module.square_bwd
    assert f.__doc__ == "TorchTensor<float> square_bwd(TorchTensor<float> input, TorchTensor<float> grad_in)"
    assert list(inspect.signature(f).parameters) == ["input", "grad_in"]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1, 2, 3), {}, "bound takes 2 arguments, 3 were given"),
        ((1,), {}, "'by' is not given"),
        ((1, 2.0), {"n": 1}, "'n' is given twice"),
        ((1,), {"byy": 2.0}, "did you mean 'by'"),
        ((1,), {"other": 2.0}, "its signature is void bound"),
    ],
)
def test_arguments_that_do_not_fit(module: TorchModule, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(sn.CallError, match=message):
        module.bound(*args, **kwargs)


def test_a_kernel_is_launched_with_its_arguments_by_name(module: TorchModule) -> None:
    launch = module.bound(3, by=2.0)
    assert isinstance(launch, Launch)
    launch.launchRaw((32, 1, 1), gridSize=(4, 1, 1))
    assert module._raw.bound.launched == [({"n": 3, "by": 2.0}, {"blockSize": (32, 1, 1), "gridSize": (4, 1, 1)})]
    with pytest.raises(sn.CallError, match=r"(?s)bound has no derivative.*Differentiable"):
        module.bound.bwd(3, 2.0)


def test_tensors_on_the_cpu_are_refused(module: TorchModule) -> None:
    with pytest.raises(sn.CallError, match=r"(?s)'input' is on the CPU.*input.cuda\(\)") as caught:
        module.square_fwd(torch.ones(2, 2))
    assert caught.value.argument == "input" and "\n" not in caught.value.message
    with pytest.raises(sn.CallError, match="'input' is an int"):
        module.square_fwd(3)


def test_a_function_of_an_imported_file_takes_what_it_is_given() -> None:
    assert TorchFunction("f", lambda a, b: (a, b), None)(1, 2) == (1, 2)


def test_a_derivative_needs_gradients_of_the_same_shape() -> None:
    text = "[AutoPyBindCUDA] [CudaKernel] [Differentiable] void cube(DiffTensorView x, float k, DiffTensorView y) {}"

    class Differentiable(Bound):
        argnames = ("x", "k", "y")
        bwd_wrapped_fn = True

        def bwd(self, **kwargs: Any) -> Any:
            return self(**kwargs)

    f = TorchFunction("cube", Differentiable(), exports(text)[0])
    x, one = torch.ones(3), torch.ones(1)
    for value in (x, (x,), (x, None)):
        with pytest.raises(sn.GradientError, match=r"(?s)'x' has no gradient.*torch.zeros_like\(x\)"):
            f.bwd(value, 2.0, (x, x))
    with pytest.raises(sn.GradientError, match=r"'y' has shape \(3,\), and its gradient \(1,\)"):
        f.bwd((x, x), 2.0, (x, one))
    with pytest.raises(sn.CallError, match="'x' has a tensor on the CPU"):
        f.bwd((x, x), 2.0, (x, x))


def test_broadcast_tensors_are_made_whole_for_what_gives_a_result() -> None:
    strides = [whole(t).stride() for t in (torch.ones(1).expand(3, 2), torch.ones(()).expand(1, 1))]
    assert strides == [(2, 1), (1, 1)]
    for kept in (torch.ones(4, 4).t(), torch.ones(1).expand(0, 3), 3.0):
        assert whole(kept) is kept


# autograd


def test_autograd_of_plain_functions() -> None:
    function = sn.torch.autograd(lambda x, y, k: k * x * y, lambda x, y, k, grad: (k * y * grad, k * x * grad))
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([3.0, 5.0], dtype=torch.float64, requires_grad=True)
    z = function.apply(x, y, 10)
    assert z.tolist() == [30.0, 100.0]
    z.sum().backward()
    assert x.grad.tolist() == [30.0, 50.0] and y.grad.tolist() == [10.0, 20.0]
    assert torch.autograd.gradcheck(lambda a, b: function.apply(a, b, 3), (x, y))


def test_several_results_and_whole_numbers() -> None:
    def fwd(x: Any, n: Any) -> Any:
        return [x * n, x * x]

    def bwd(x: Any, n: Any, first: Any, second: Any) -> Any:
        return n * first + 2 * x * second

    function = sn.torch.autograd(fwd, bwd)
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    a, b = function.apply(x, torch.tensor([4, 5]))
    (a.sum() + 10 * b.sum()).backward()
    assert x.grad.tolist() == [44.0, 65.0]
    (only_one,) = torch.autograd.grad(function.apply(x, torch.tensor([4, 5]))[0].sum(), x)
    assert only_one.tolist() == [4.0, 5.0]  # the other's gradient is zeros


def test_the_seed_is_contiguous() -> None:
    seen = []
    function = sn.torch.autograd(lambda x: x * x, lambda x, grad: seen.append(grad.is_contiguous()) or 2 * x * grad)
    x = torch.ones(3, 4, requires_grad=True)
    function.apply(x).sum().backward()
    assert seen == [True]
    function = sn.torch.autograd(lambda x: x * x, lambda x, grad: seen.append(grad.stride()) or 2 * x * grad)
    y = torch.ones(1, 1, requires_grad=True)
    function.apply(y).sum().backward()
    assert seen[1] == (1, 1)  # torch calls strides of 0 contiguous there, and slangtorch refuses them


def test_gradients_that_do_not_fit() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(sn.GradientError, match="two gives 2 gradients for 1 tensors"):

        def two(x: Any, grad: Any) -> Any:
            return grad, grad

        sn.torch.autograd(lambda x: x * x, two).apply(x).sum().backward()
    with pytest.raises(sn.GradientError, match=r"gradient 1 has shape \(1,\), its tensor \(3,\)"):
        sn.torch.autograd(lambda x: x * x, lambda x, grad: grad[:1]).apply(x).sum().backward()


def test_a_second_derivative_is_refused() -> None:
    x = torch.ones(3, requires_grad=True)
    function = sn.torch.autograd(lambda x: x * x, lambda x, grad: 2 * x * grad)
    (first,) = torch.autograd.grad(function.apply(x).sum(), x, create_graph=True)
    with pytest.raises(sn.GradientError, match="cannot be differentiated again"):
        first.sum().backward()


def test_a_pair_that_does_not_fit(module: TorchModule) -> None:
    with pytest.raises(sn.CallError, match=r"(?s)square_fwd takes 1 arguments, and must take 2.*\(input\), and then"):
        sn.torch.autograd(module.square_fwd, module.square_fwd)
    assert sn.torch.autograd(module.square_fwd, module.square_bwd).__name__ == "SlangFunction_square_fwd"
