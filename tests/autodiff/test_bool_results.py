"""Functions that give bools, called with arrays: by SlangPy's kernel and by ours, in transforms, and in torch."""

from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
bool negative(float x) { return x < 0; }
[Differentiable] float square(float x, out bool neg) { neg = x < 0; return x * x; }
bool2 sides(float x) { return bool2(x < 0, x > 0); }
int seven(bool b) { return b ? 7 : 1; }
"""
X = np.array([-1, 2, -3], np.float32)
WANTED = [True, False, True]


@pytest.fixture(scope="module")
def module(session: Any) -> Any:
    return session.compile(SOURCE)


def test_arrays_give_an_array(module: Any) -> None:
    made = module.negative(X)
    assert made.dtype == bool
    assert made.tolist() == WANTED
    assert module.negative(np.tile(X, 1 << 16)).tolist() == WANTED * (1 << 16)


@pytest.mark.parametrize("times", [1, 1 << 16])  # by SlangPy's kernel, and by ours
@pytest.mark.filterwarnings("ignore:negative gives a tensor of bool")
def test_tensors_give_one_for_other_kernels(module: Any, times: int) -> None:
    made = module.negative(sn.tensor(np.tile(X, times)))
    assert module.seven(made, _result="numpy").tolist() == [7, 1, 7] * times


def test_a_tensor_that_reads_wrong_is_warned_of_once(session: Any) -> None:
    if session.backend.name == "cuda":
        pytest.skip("bools take one byte there")
    g = session.compile("bool tiny(float x) { return x < 0.1; }").tiny
    with pytest.warns(UserWarning, match=r"^tiny gives a tensor of bool, which other functions take") as said:
        g(sn.tensor(X))
        g(sn.tensor(X))
        g(x=sn.tensor(X))
    assert len(said) == 1


def test_vectors_are_refused(module: Any) -> None:
    with pytest.raises(sn.CallError, match=r"sides gives bool2, which SlangPy 0\.43 cannot read back") as caught:
        module.sides(X)
    assert caught.value.remedy == "make it int2"


def test_outputs_of_transforms(module: Any) -> None:
    y, dy = sn.jvp(module.square, {"x": X}, {"x": 1.0})
    assert y["neg"].tolist() == WANTED
    assert dy["result"].tolist() == [-2, 4, -6]
    y, pull = sn.vjp(module.square, X)
    assert y["neg"].tolist() == WANTED
    assert pull({"result": 1.0})["x"].tolist() == [-2, 4, -6]


def test_torch(module: Any) -> None:
    torch = pytest.importorskip("torch")
    made = module.negative(torch.tensor(X))
    assert made.dtype is torch.bool
    assert made.tolist() == WANTED
    given = torch.zeros(3, dtype=torch.bool)
    module.negative(torch.tensor(X), _result=given)
    assert given.tolist() == WANTED
    x = torch.tensor(X, requires_grad=True)
    y = module.square(x)
    assert y["neg"].tolist() == WANTED
    y["result"].sum().backward()
    assert x.grad.tolist() == [-2, 4, -6]
