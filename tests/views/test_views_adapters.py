"""Parameters, torch tensors, textures and structs are read as a value and a gradient."""

import sys
import types
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.errors import CallError
from slangnb.runtime.struct_values import fields_of
from slangnb.views import tensor_arrays
from slangnb.views.adapters import AdaptedSource, adapter, is_torch
from slangnb.views.array_source import ArraySource, pair_model
from slangnb.views.axes import default_axes
from slangnb.views.history import History
from slangnb.views.images import LightSource, encode, with_gamma
from slangnb.views.sources import pair_arrays
from slangnb.views.tensor_arrays import StructField, struct_fields, struct_rows, tensor_reading
from slangnb.views.textures import in_numbers, plain_format, texture_array

STRUCTS = """
struct Inner : IDifferentiable { float3 colour; float2x2 turn; half2 small; }
struct Ball : IDifferentiable { Inner inner; no_diff int kind; float weights[3]; bool on; }
[Differentiable] float bright(Ball b) { return dot(b.inner.colour, b.inner.colour) + 3 * b.weights[1]; }
"""


class FakeTensor:
    """As much of a torch tensor as the adapter asks for."""

    def __init__(self, array: np.ndarray, grad: Any = None, **said: Any) -> None:
        self.array, self.grad = array, grad
        self.device: Any = said.get("device", "cpu")
        self.dtype = said.get("dtype", "torch.float32")
        self.layout = said.get("layout", "torch.strided")
        self.is_leaf = said.get("is_leaf", True)
        self.requires_grad = True
        self.did: list[str] = []

    def numel(self) -> int:
        return self.array.size

    def element_size(self) -> int:
        return self.array.itemsize

    def is_complex(self) -> bool:
        return False

    def detach(self) -> "FakeTensor":
        return self

    def cpu(self) -> "FakeTensor":
        return FakeTensor(self.array, dtype=self.dtype)

    def to_dense(self) -> "FakeTensor":
        return FakeTensor(self.array * 2, dtype=self.dtype)

    def float(self) -> "FakeTensor":
        return FakeTensor(self.array.astype(np.float32))

    def numpy(self) -> np.ndarray:
        if "bfloat16" in self.dtype:
            raise TypeError("unsupported ScalarType BFloat16")
        return self.array


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("torch")
    module.Tensor = FakeTensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


def test_plain_things_need_no_adapter() -> None:
    assert adapter(np.zeros(3), "x") is None
    assert adapter(2.0, "x") is None


def test_a_parameter_with_and_without_gradient() -> None:
    a = sn.Parameter([1.0, 2.0])
    assert pair_arrays(a, "a").gradient is None
    a.set_grad(np.array([3.0, 4.0]))
    found = pair_arrays(a, "a")
    assert found.value.tolist() == [1, 2]
    assert found.gradient is not None
    assert found.gradient.tolist() == [3, 4]


def test_a_parameter_of_one_number() -> None:
    a = sn.Parameter(2.0)
    a.set_grad(np.array(6.0))
    found = pair_arrays(a, "a")
    assert (found.value.shape, float(found.gradient)) == ((), 6.0)  # type: ignore[arg-type]


def test_a_source_reads_a_parameter_anew() -> None:
    a = sn.Parameter([1.0, 2.0])
    read = adapter(a, "a")
    assert read is not None
    source = AdaptedSource(read, "a")
    assert source.model().gradient is None
    a.value = [5.0, 6.0]
    a.set_grad(np.array([3.0, 4.0]))
    assert source.changed()
    source.refresh()
    model = source.model()
    assert (model.name, model.value.stats.max) == ("a", 6.0)
    assert model.gradient is not None
    assert model.gradient.stats.norm == 5.0


def test_torch_without_torch() -> None:
    assert "torch" not in sys.modules
    assert not is_torch(np.zeros(3))
    assert "torch" not in sys.modules


@pytest.mark.usefixtures("torch")
def test_a_torch_tensor_with_gradient() -> None:
    x = FakeTensor(np.arange(3.0), FakeTensor(np.ones(3)), device="cuda:0")
    found = pair_arrays(x, "x")
    assert found.value.tolist() == [0, 1, 2]
    assert found.gradient is not None
    assert found.gradient.tolist() == [1, 1, 1]
    assert found.device == "cuda:0"


@pytest.mark.usefixtures("torch")
def test_torch_types_that_numpy_lacks() -> None:
    assert pair_arrays(FakeTensor(np.arange(3.0), dtype="torch.bfloat16"), "x").value.dtype == np.float32
    assert pair_arrays(FakeTensor(np.arange(3.0), layout="torch.sparse_coo"), "x").value.tolist() == [0, 2, 4]


@pytest.mark.usefixtures("torch")
def test_a_torch_tensor_that_retains_no_gradient_is_not_asked_for_it() -> None:
    class Strict(FakeTensor):
        @property
        def grad(self) -> Any:
            raise AssertionError("torch warns here")

        @grad.setter
        def grad(self, new: Any) -> None:
            pass

    found = pair_arrays(Strict(np.zeros(2), is_leaf=False), "x")
    assert found.gradient is None
    assert "retain_grad" in found.remark


@pytest.mark.usefixtures("torch")
def test_a_torch_tensor_without_numbers_is_refused() -> None:
    with pytest.raises(CallError, match="meta"):
        pair_arrays(FakeTensor(np.zeros(2), device="meta"), "x")


def test_a_slangpy_tensor(session: Any) -> None:
    x = sn.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), grad=True, dtype="float3")
    found = tensor_reading(x, "x")
    assert (found.value.shape, found.element) == ((2, 3), (3,))
    assert found.gradient is not None
    assert not found.gradient.any()


def empty(session: Any, shape: Any, dtype: Any) -> Any:
    import slangpy as spy

    return spy.Tensor.empty(session.device, shape=shape, dtype=dtype)


def test_structs_by_field(session: Any) -> None:
    m = session.compile(STRUCTS)
    t = empty(session, (2, 5), m.Ball).with_grads(zero=True)
    stride = t.dtype.buffer_layout.stride
    data = np.zeros((10, stride), np.uint8)
    data[:, :12] = np.arange(30, dtype=np.float32).reshape(10, 3).view(np.uint8)
    kind = next(f for f in t.dtype.buffer_layout.reflection.fields if f.name == "kind").offset
    data[:, kind : kind + 4] = np.arange(10, dtype=np.int32)[:, None].view(np.uint8)
    t.storage.copy_from_numpy(data.reshape(-1))
    found = struct_fields(t, "balls")
    assert list(found) == ["inner.colour", "inner.turn", "inner.small", "kind", "weights", "on"]
    colour = found["inner.colour"]
    assert colour.value.tolist() == np.arange(30.0).reshape(2, 5, 3).tolist()
    assert (colour.element, colour.value.dtype) == ((3,), np.float32)
    assert colour.gradient is not None
    assert colour.gradient.shape == (2, 5, 3)
    assert found["inner.turn"].element == (2, 2)
    assert found["inner.small"].value.dtype == np.float16
    assert found["kind"].value.tolist() == np.arange(10).reshape(2, 5).tolist()
    assert found["kind"].gradient is None
    assert found["weights"].value.shape == (2, 5, 3)
    assert found["on"].value.dtype == np.bool_
    with pytest.raises(CallError, match="inner"):
        tensor_reading(t, "balls")


def test_gradients_of_structs_by_field(session: Any) -> None:
    m = session.compile(STRUCTS)
    t = empty(session, (4,), m.Ball)
    data = np.zeros((4, t.dtype.buffer_layout.stride), np.uint8)
    data[:, :12] = np.arange(12, dtype=np.float32).reshape(4, 3).view(np.uint8)
    t.storage.copy_from_numpy(data.reshape(-1))
    t = t.with_grads(zero=True)
    value, grad = sn.value_and_grad(m.bright, wrt="b")(b=t)
    assert value > 0
    t.grad_out.storage.copy_from_numpy(grad.storage.to_numpy())
    found = struct_fields(t)
    slope = found["inner.colour"].gradient
    assert slope is not None
    assert slope.tolist() == (2 * np.arange(12.0).reshape(4, 3)).tolist()
    weights = found["weights"].gradient
    assert weights is not None
    assert weights.tolist() == [[0, 3, 0]] * 4

    rows = struct_rows(t, "balls")
    assert rows[0][0] == "balls.inner.colour"
    assert isinstance(rows[0][1], StructField)
    read = adapter(rows[0][1], rows[0][0])
    assert read is not None
    source = AdaptedSource(read, "balls.inner.colour")
    assert (source.dtype, source.shape, source.has_gradient) == ("float3", (4,), True)


@pytest.mark.parametrize("history", [False, True])
def test_structs_are_read_once_for_all_their_fields(
    session: Any, monkeypatch: pytest.MonkeyPatch, history: bool
) -> None:
    m = session.compile(STRUCTS)
    t = empty(session, (3,), m.Ball).with_grads(zero=True)
    t.storage.copy_from_numpy(np.zeros(3 * t.dtype.buffer_layout.stride, np.uint8))
    read: list[Any] = []
    monkeypatch.setattr(tensor_arrays, "fields_of", lambda *given: read.append(given[0]) or fields_of(*given))
    view = sn.show(ball=t, history=True) if history else sn.show(ball=t, flow=False)
    assert read == [t, t.grad_out]
    # What is shown later is not what was read at first.
    t.storage.copy_from_numpy(np.ones(3 * t.dtype.buffer_layout.stride, np.uint8))
    view.update()
    models = view.frames[-1].models if isinstance(view, History) else view.models
    assert [(one.name, one.value.text) for one in models if one.name == "ball.kind"] == [
        ("ball.kind", "[16843009 16843009 16843009]")
    ]


def test_no_struct_is_refused(session: Any) -> None:
    with pytest.raises(CallError, match="no tensor of structs"):
        struct_fields(sn.tensor([1.0]))


@pytest.mark.parametrize("name", ["bc1_unorm", "rgb10a2_unorm", "d32_float", "rgb9e5_ufloat", "undefined"])
def test_formats_that_are_not_plain(name: str) -> None:
    assert plain_format(name) is None


def test_numbers_of_textures() -> None:
    assert in_numbers(np.array([0, 65535], np.uint16), "r", 16, "unorm").tolist() == [0, 1]
    assert in_numbers(np.array([[1, 2, 3, 4]], np.uint8), "bgrx", 8, "unorm").tolist() == [[3, 2, 1]]
    assert in_numbers(np.array([[7]], np.uint8), "r", 8, "uint").dtype == np.int32


def test_textures(session: Any) -> None:
    import slangpy as spy

    def made(form: Any, **said: Any) -> Any:
        said = {"width": 8, "height": 4} | said
        return session.device.create_texture(format=form, usage=spy.TextureUsage.shader_resource, **said)

    texture = made(spy.Format.bgra8_unorm)
    pixels = np.random.default_rng(0).integers(0, 255, (4, 8, 4), np.uint8)
    texture.copy_from_numpy(pixels)
    array, remark = texture_array(texture)
    assert np.array_equal(array, pixels[..., [2, 1, 0, 3]])
    assert remark == "bgra8_unorm texture"
    assert pair_arrays(texture, "t").element == (4,)
    cube = made(spy.Format.r32_float, type=spy.TextureType.texture_cube, width=4, mip_count=2)
    array, remark = texture_array(cube)
    assert array.shape == (6, 4, 4)
    assert "largest of 2 mip levels" in remark
    assert pair_arrays(cube, "t").element == ()
    with pytest.raises(CallError, match=r"bc1_unorm.*\n.*rgba32_float"):
        texture_array(made(spy.Format.bc1_unorm))


def test_gamma_of_light() -> None:
    light = np.array([[[0.25, 4.0, -1.0], [np.nan, 1.0, 0.0]]])
    seen = encode(light, 2.0)
    assert seen[0, 0].tolist() == [0.5, 1.0, 0.0]
    assert np.isnan(seen[0, 1, 0])


def test_gamma_leaves_opacity() -> None:
    assert encode(np.array([0.25, 0.25, 0.25, 0.25]), 2.0).tolist() == [0.5, 0.5, 0.5, 0.25]


def test_an_image_within_and_outside_of_the_range() -> None:
    inside = with_gamma(pair_model(np.full((8, 8, 3), 0.25), np.ones((8, 8, 3)), name="i"), 2.0)
    assert inside.value.kind == "rgb"
    assert (inside.value.array == 0.5).all()
    assert inside.value.stats.max == 0.25
    assert inside.gradient is not None
    assert inside.gradient.kind == "facets"
    values = np.full((8, 8, 3), 0.25)
    values[0, 0] = (np.nan, 2.0, -3.0)
    outside = with_gamma(pair_model(values, np.ones((8, 8, 3)), name="i"), 2.0)
    assert outside.value.array.shape == (8, 8, 3)
    assert outside.value.marks.nan.sum() == 1
    assert "numbers below 0 and above 1 are cut" in outside.caption
    assert outside.gradient is not None
    assert outside.gradient.labels == ("r", "g", "b")


def test_a_source_of_light_reads_as_it_is_and_draws_through_gamma() -> None:
    values = np.full((8, 9, 3), 4.0)
    values[2, 3] = 0.25
    source = LightSource(ArraySource(values, name="light"), 2.0)
    assert source.model().value.kind == "rgb"
    assert source.model().value.array[2, 3].tolist() == [0.5] * 3
    window = source.window(default_axes(source.shape, source.element), (2, 4), (3, 6))
    assert window.kind == "rgb"
    assert window.value.array.shape == (3, 2, 3)
    assert window.value.array[:, 0, 0].tolist() == [0.5] * 3
    assert window.value.array[:, 1, 1].tolist() == [1.0] * 3
    assert source.probe((2, 3)) == ((0.25, 0.25, 0.25), None)
    values[:] = 0.25
    assert source.changed()
    source.refresh()
    assert (source.model().value.array == 0.5).all()


@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "2.2", True])
def test_what_is_no_gamma(gamma: Any) -> None:
    with pytest.raises(CallError, match="gamma"):
        encode(np.zeros((2, 3)), gamma)


def test_what_is_no_image() -> None:
    with pytest.raises(CallError, match="no image of colours"):
        with_gamma(pair_model(np.zeros((8, 8)), name="x"))
    assert with_gamma(pair_model(np.zeros((0, 8, 3)), name="x")).value.kind == "empty"


def test_what_is_no_array() -> None:
    with pytest.raises(CallError, match="x holds lists of different lengths"):
        pair_arrays([[1], [2, 3]], "x")
