"""Every step of Slang's page on PyTorch, with the right values, in a notebook's shell.

Two slips of the page are put right: the bounds are compared with ``>=`` and each with its own index, and the Python
module is called slangtorch today. The page passes a tensor on the CPU, which slangtorch refuses by now; it also refuses
the gradient that the page's last example hands it, and slangnb makes that one whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slangtorch_here import SQUARE, lacking

import slangnb as sn

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(lacking()), reason=f"slangtorch needs {lacking()}")]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this file's own: the first build is a first build."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("SLANGNB_CACHE", str(folder))
        yield folder


@pytest.fixture
def page(shell: Any, cache: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """The page's cell, compiled."""
    shell.run_cell("%%slang square\n" + SQUARE, store_history=True).raise_error()
    return shell


def run(shell: Any, text: str) -> Any:
    outcome = shell.run_cell(text, store_history=True)
    outcome.raise_error()
    return outcome.result


def test_the_first_build_says_what_goes_on_in_one_line(
    shell: Any, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%%slang\n" + SQUARE)
    out = capsys.readouterr()
    (line,) = out.out.splitlines()
    assert line.startswith("compiling square_fwd(input), square_bwd(input, grad_in) for PyTorch ... ")
    assert line.endswith(" s") and 0 < float(line.split()[-2]) < 300
    assert out.err == ""
    run(shell, "%%slang\n" + SQUARE)
    assert capsys.readouterr().out == "compiled square_fwd(input), square_bwd(input, grad_in)\n"


def test_forward(page: Any) -> None:
    result = run(
        page,
        """
import torch
x = torch.tensor([[0.1407, 0.6594], [-0.8978, -1.7230]])
square_fwd(x.cuda())
""",
    )
    x = page.user_ns["x"]
    assert result.is_cuda and result.shape == (2, 2)
    assert (result.cpu() - x * x).abs().max() == 0
    # What the page prints.
    assert [[round(v, 4) for v in row] for row in result.cpu().tolist()] == [[0.0198, 0.4348], [0.8060, 2.9687]]


def test_a_tensor_on_the_cpu_is_told_where_to_go(page: Any) -> None:
    with pytest.raises(sn.CallError, match=r"(?s)square_fwd: 'input' is on the CPU.*pass input.cuda\(\)"):
        run(page, "import torch; square.square_fwd(torch.randn(2, 2))")


def test_the_function_that_the_page_writes_by_hand(page: Any) -> None:
    run(
        page,
        """
import torch

class MySquareFuncInSlang(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return square.square_fwd(input)

    @staticmethod
    def backward(ctx, grad_output):
        [input] = ctx.saved_tensors
        return square.square_bwd(input, grad_output)

x = torch.tensor([[3.0, 4.0], [0.0, 1.0]], requires_grad=True, device="cuda")
y_pred = MySquareFuncInSlang.apply(x)
y_pred.sum().backward()
""",
    )
    assert page.user_ns["y_pred"].tolist() == [[9.0, 16.0], [0.0, 1.0]]
    assert page.user_ns["x"].grad.cpu().tolist() == [[6.0, 8.0], [0.0, 2.0]]


def test_broadcast_tensors(page: Any) -> None:
    """As the gradient of a sum is one; slangtorch alone refuses them, and the page's own example with them."""
    import torch  # pyright: ignore[reportMissingImports]

    for x in (torch.tensor([[2.0], [3.0]], device="cuda").expand(2, 3), torch.ones((), device="cuda").expand(1, 1)):
        assert torch.equal(page.user_ns["square_fwd"](x), x * x)


def test_the_function_that_slangnb_makes(page: Any) -> None:
    run(
        page,
        """
import torch, slangnb as sn

Square = sn.torch.autograd(square_fwd, square_bwd)
x = torch.tensor([[3.0, 4.0], [0.0, 1.0]], requires_grad=True, device="cuda")
y_pred = Square.apply(x)
y_pred.sum().backward()
""",
    )
    assert page.user_ns["y_pred"].tolist() == [[9.0, 16.0], [0.0, 1.0]]
    assert page.user_ns["x"].grad.cpu().tolist() == [[6.0, 8.0], [0.0, 2.0]]


def test_gradcheck(page: Any) -> None:
    import torch  # pyright: ignore[reportMissingImports]

    function = sn.torch.autograd(page.user_ns["square_fwd"], page.user_ns["square_bwd"])
    x = torch.linspace(-2, 2, 12, device="cuda").reshape(3, 4).requires_grad_()
    # A difference over 2 eps is exact for a square; float32 leaves 1e-7 of 4 over 2e-2.
    assert torch.autograd.gradcheck(function.apply, (x,), eps=1e-2, atol=1e-3, rtol=1e-3)
