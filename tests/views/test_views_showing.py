"""`show` with its options: which view comes out, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.errors import CallError
from slangnb.views.flow import FlowView
from slangnb.views.history import History
from slangnb.views.pair import PairView
from slangnb.views.scatter import ScatterView

X = np.linspace(0, 1, 12, dtype=np.float32)


def test_more_than_four_tensors_flow() -> None:
    assert type(sn.show(X, X, X, X)) is PairView
    assert type(sn.show(X, X, X, X, X)) is FlowView
    assert type(sn.show(X, X, X, X, X, flow=False)) is PairView
    flow = sn.show(w=X, flow=True)
    assert type(flow) is FlowView and "w " in repr(flow)


def test_scatter(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float x) { return x * x; }").f
    x = sn.tensor(X, grad=True, session=session)
    y = f(x, _result="tensor").with_grads()
    y.grad.copy_from_numpy(np.ones_like(X))
    f.bwds(x, _result=y)
    view = sn.show(x=x, kind="scatter")
    assert type(view) is ScatterView
    assert "correlation 1" in repr(view)
    with pytest.raises(CallError, match="one tensor"):
        sn.show(x, x, kind="scatter")


def test_history_follows_updates() -> None:
    x = X.copy()
    kept = sn.show(x=x, history=True)
    for _ in range(3):
        x *= 0.5
        kept.update()
    assert type(kept) is History and kept.steps == (0, 1, 2, 3)
    norms = np.array([frame.models[0].value.stats.norm for frame in kept.frames], np.float64)
    np.testing.assert_allclose(norms, np.linalg.norm(X.astype(np.float64)) * 0.5 ** np.arange(4), rtol=1e-6)


def test_gamma_brightens() -> None:
    image = np.full((8, 8, 3), 0.25, np.float32)
    plain, bright = (sn.show(x=image, gamma=g).models[0].value.array for g in (1.0, 2.0))
    np.testing.assert_allclose(plain, 0.25)
    np.testing.assert_allclose(bright, 0.5)


def test_parameters_and_their_gradients() -> None:
    model = sn.show(a=sn.Parameter([1.0, 2.0])).models[0]
    assert model.name == "a" and model.value.text == "[1. 2.]"


@pytest.mark.parametrize("option", [{"kind": "pie"}, {"kind": X}, {"live": X}, {"history": X}, {"title": X}])
def test_options_are_no_tensors(option: Any) -> None:
    with pytest.raises(CallError):
        sn.show(X, **option)


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ({"knd": "scatter"}, "show has no option 'knd'", "did you mean kind? write show(x, kind='scatter')"),
        ({"titel": "A"}, "show has no option 'titel'", "did you mean title? write show(x, title='A')"),
        ({"histry": True}, "show has no option 'histry'", "did you mean history? write show(x, history=True)"),
        (
            {"colormap": "gray"},
            "show has no option 'colormap'",
            "its options are title, live, kind, flow, gamma, history, grads, as in show(x, title='x')",
        ),
    ],
)
def test_options_that_there_are_not(options: Any, message: str, remedy: str) -> None:
    with pytest.raises(CallError) as refused:
        sn.show(X, **options)
    assert str(refused.value).startswith(message) and refused.value.remedy == remedy


def test_a_row_may_be_named_as_an_option_nearly_is() -> None:
    assert repr(sn.show(X, lives=X)).splitlines()[2].startswith("lives  float32 (12,)")
    assert repr(sn.show(alive=True)).startswith("alive  bool")


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (None, "tensor is None, which holds no numbers to show"),
        (object(), "tensor is of the type 'object', which holds no numbers to show"),
        ("text", "tensor is of the type 'str', which holds no numbers to show"),
        (
            np.sin,
            "tensor is of the type 'ufunc', which holds no numbers to show\nremedy: call it first: sn.show(f(...))",
        ),
        (np.array(["a"]), "tensor is an array of dtype <U1, which holds no numbers to show"),
        ([np.zeros(2), np.zeros(3)], "tensor holds lists of different lengths"),
    ],
)
def test_what_holds_no_numbers_is_named(thing: Any, message: str) -> None:
    with pytest.raises(CallError) as refused:
        sn.show(thing)
    assert str(refused.value).startswith(message)


def test_every_kind_of_view_has_its_word() -> None:
    x = np.ones(3)
    kinds = ("pair", "flow", "history")
    assert [type(sn.show(x, kind=kind)) for kind in kinds] == [PairView, FlowView, History]
    assert type(sn.show(x, x, x, x, x, kind="pair")) is PairView
    assert type(sn.show(x, kind="flow", flow=True)) is FlowView


def test_options_decide_before_the_number_of_tensors_does() -> None:
    followed = sn.show(X, X, X, X, X, live=True)
    assert type(followed) is PairView and followed.live
    image = np.full((8, 8, 3), 0.25, np.float32)
    bright = sn.show(*[image] * 5, gamma=2.0)
    assert type(bright) is PairView
    np.testing.assert_allclose(bright.models[4].value.array, 0.5)
    assert type(sn.show(X, X, X, X, X, live=False, gamma=None)) is FlowView


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ({"flow": True, "live": True}, "a flow view takes no live", "leave live out, or write kind='pair' instead"),
        ({"history": True, "live": True}, "a history view takes no live", "write kind='pair' instead"),
        (
            {"kind": "scatter", "gamma": 2.2},
            "a scatter view takes no gamma",
            "write kind='pair' or kind='history' instead",
        ),
        ({"flow": True, "history": True}, "flow and history are different views", "ask for one at a time"),
        ({"kind": "scatter", "flow": True}, "flow and scatter are different views", "ask for one at a time"),
        ({"kind": "pie"}, "kind is 'pie', not one of pair, scatter, flow, history", "write show(x, kind='scatter')"),
        ({"flow": X}, "flow is True or False", "to name a row 'flow', write show({'flow': x})"),
    ],
)
def test_options_that_the_view_does_not_take(options: Any, message: str, remedy: str) -> None:
    with pytest.raises(CallError) as refused:
        sn.show(X, **options)
    assert str(refused.value).startswith(message) and refused.value.remedy.endswith(remedy)


def test_a_scatter_has_its_title() -> None:
    a = sn.Parameter([1.0, 2.0])
    a.set_grad(np.array([3.0, 4.0]))
    view = sn.show({"a": a}, kind="scatter", title="slopes")
    assert view.title == "slopes: a: value against gradient" and repr(view).startswith("slopes: a  float32 (2,)")
    assert sn.show(a, kind="scatter", title="slopes").title == "slopes: value against gradient"
