"""Arrays of other libraries as data for `sn.tensor` and `sn.Parameter`: what is kept, and what is refused."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import slangnb as sn


class Foreign:
    """An array that numpy can read by DLPack only."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **asked: Any) -> Any:
        return self._array.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class Elsewhere(Foreign):
    """An array in the memory of a CUDA card."""

    def __dlpack__(self, **asked: Any) -> Any:
        raise BufferError("it is in device memory")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint32"])
def test_dlpack_keeps_the_type(session: Any, dtype: str) -> None:
    data = np.arange(6).astype(dtype).reshape(2, 3)
    t = sn.tensor(Foreign(data))
    assert t.to_numpy().dtype == dtype
    np.testing.assert_array_equal(t.to_numpy(), data)
    strided = sn.tensor(Foreign(data[:, ::2]))
    np.testing.assert_array_equal(strided.to_numpy(), data[:, ::2])


def test_dlpack_with_a_cast_and_a_gradient(session: Any) -> None:
    t = sn.tensor(Foreign(np.arange(3)), dtype="float", grad=True)
    assert t.to_numpy().dtype == np.float32
    assert t.grad.to_numpy().tolist() == [0, 0, 0]
    assert sn.Parameter(Foreign(np.arange(3.0))).dtype == "double"


def test_memory_that_the_cpu_cannot_read(session: Any) -> None:
    with pytest.raises(sn.CallError, match="numpy cannot read this Elsewhere: it is in device memory") as caught:
        sn.tensor(Elsewhere(np.zeros(3)))
    assert caught.value.remedy == "copy it to the CPU first"


def test_out_by_numpy(session: Any) -> None:
    """A SlangPy tensor has no ``__dlpack__``; its numpy copy has."""
    t = sn.tensor([1.0, 2.0, 3.0])
    assert np.from_dlpack(t.to_numpy()).tolist() == [1.0, 2.0, 3.0]


class TestTorch:
    """Torch tensors, with and without a graph."""

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch", reason="torch is not installed")

    @pytest.mark.parametrize("name", ["float16", "float32", "float64", "int32", "int64", "uint8"])
    def test_the_type_is_kept(self, session: Any, torch: Any, name: str) -> None:
        t = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
        for view in (t, t.T, t[:, ::2], t.flip(0)):
            found = sn.tensor(view).to_numpy()
            assert found.dtype == name
            np.testing.assert_array_equal(found, view.numpy())
        assert sn.tensor(t[0, 0]).to_numpy().dtype == name

    def test_a_graph_is_left(self, session: Any, torch: Any) -> None:
        x = torch.nn.Parameter(torch.arange(3.0))
        x.grad = torch.ones(3)
        t = sn.tensor(x * 2, grad=True)
        assert t.to_numpy().tolist() == [0, 2, 4]
        assert t.grad.to_numpy().tolist() == [0, 0, 0]
        with torch.no_grad():
            x.add_(1)
        assert t.to_numpy().tolist() == [0, 2, 4]

    def test_parameters(self, session: Any, torch: Any) -> None:
        for x, shape, dtype in (
            (torch.nn.Parameter(torch.tensor(2.0)), (), "float"),
            (torch.nn.Parameter(torch.ones(3).double()), (3,), "double"),
            (torch.ones(2, 2).half(), (2, 2), "half"),
            (torch.ones(2, dtype=torch.int32), (2,), "float"),
        ):
            p = sn.Parameter(x)
            assert (p.shape, p.dtype) == (shape, dtype)
            np.testing.assert_array_equal(p.value, x.detach().numpy())
        p = sn.Parameter([1.0, 2.0])
        p.value = torch.tensor([3.0, 4.0], requires_grad=True)
        assert p.value.tolist() == [3.0, 4.0]

    @pytest.mark.parametrize("make", [sn.tensor, sn.Parameter])
    def test_bfloat16_teaches_the_cast(self, session: Any, torch: Any, make: Any) -> None:
        with pytest.raises(sn.CallError, match="bfloat16, which Slang does not have") as caught:
            make(torch.ones(3).bfloat16())
        assert caught.value.remedy == "cast it: tensor.float()"

    def test_what_has_no_numbers(self, session: Any, torch: Any) -> None:
        with pytest.raises(sn.CallError, match="meta device"):
            sn.tensor(torch.empty(2, device="meta"))
        with pytest.raises(sn.CallError, match="is complex"):
            sn.tensor(torch.zeros(2, dtype=torch.cfloat))
        with pytest.raises(sn.CallError, match="bool"):
            sn.tensor(torch.tensor([True]))

    def test_out(self, session: Any, torch: Any) -> None:
        t = torch.from_dlpack(sn.tensor([1.0, 2.0]).to_numpy())
        assert t.tolist() == [1.0, 2.0]


@pytest.mark.gpu
def test_torch_tensors_of_a_card(session: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    x = torch.arange(3.0, device="cuda", requires_grad=True)
    assert sn.tensor(x).to_numpy().tolist() == [0, 1, 2]
    assert sn.Parameter(x).value.tolist() == [0, 1, 2]


def test_jax_arrays(session: Any) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    jnp = importlib.import_module("jax.numpy")
    for name in ("float16", "float32", "int32", "uint8"):
        found = sn.tensor(jnp.arange(6, dtype=name).reshape(2, 3).T).to_numpy()
        assert found.dtype == name
        assert found.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert sn.Parameter(jnp.float32(2.0)).value == 2.0
    with pytest.raises(sn.CallError, match="bfloat16 has no counterpart"):
        sn.tensor(jnp.ones(2, jnp.bfloat16))
    f = session.compile("float twice(float x) { return 2 * x; }").twice
    with pytest.raises(sn.CallError, match="cannot be passed") as caught:
        f(jnp.ones(2))
    assert "np.asarray(x)" in caught.value.remedy
