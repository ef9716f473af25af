"""One whole number as the index of a tensor with several dimensions counts for all of them: the lint says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

KINDS = [f"{i}{kind}" for i in ("", "I") for kind in ("Tensor", "RWTensor", "DiffTensor")]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_is_so(session: Any, kind: str, count: int) -> None:
    w = np.arange(3.0**count, dtype=np.float32).reshape((3,) * count)
    text = f"import slangpy;\nfloat f(int i, {kind}<float, {count}> w) {{ return w[i]; }}"
    session.take_warnings()
    f = session.compile(text, warn=False).f
    (found,) = session.take_warnings()
    better = ["w[i, 0]", "w[i, 0, 0]"][count - 2]
    assert found.message == f"`w` has {count} dimensions: `w[i]` is `w[{', '.join('i' * count)}]`."
    assert found.remedy == f"write an index for each of them, such as `{better}`"
    assert (found.line, found.source[found.column - 1 :]) == (2, "w[i]; }")
    tensor = sn.tensor(w, grad="Diff" in kind)
    assert f(2, tensor) == w[(2,) * count]
    f = session.compile(text.replace("w[i]", better), warn=False).f
    assert f(2, tensor) == w[(2, *[0] * (count - 1))]
    assert session.take_warnings() == []


def test_a_vector_from_a_grid_is_right(session: Any) -> None:
    spy = pytest.importorskip("slangpy")
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    session.take_warnings()
    f = session.compile("import slangpy;\nfloat f(int2 p, Tensor<float, 2> w) { return w[p]; }", warn=False).f
    assert f(spy.grid((2, 3)), sn.tensor(w), _result="numpy").tolist() == w.tolist()
    assert session.take_warnings() == []


def said(declared: str, body: str, before: str = "") -> list[str]:
    text = f"import slangpy;\n{before}\nvoid f({declared}) {{ {body} }}"
    return [d.remedy.partition("such as ")[2] for d in lint(Source(text))]


@pytest.mark.parametrize(
    ("body", "better"),
    [
        ("w[0] = 1;", "`w[0, 0]`"),
        ("w[i + 1] = 1;", "`w[i + 1, 0]`"),
        ("for (int k = 0; k < 3; k++) s += w[k];", "`w[k, 0]`"),
        ("uint k = 2; w[2 * (k - 1)] = 1;", "`w[2 * (k - 1), 0]`"),
        ("if (s > w[i]) s = 0;", "`w[i, 0]`"),
    ],
)
def test_one_whole_number_is_warned_of(body: str, better: str) -> None:
    assert said("int i, float s, RWTensor<float, 2> w", body) == [better]


def test_a_tensor_of_the_module_is_meant_too() -> None:
    assert said("uint i", "float s = t[i];", "Tensor<float2, 3> t;") == ["`t[i, 0, 0]`"]


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        ("int i, Tensor<float, 2> w", "float s = w[i, 0] + w[i, i] + w[0, 1];"),
        ("int i, Tensor<float, 1> w", "float s = w[i];"),
        ("int i, Tensor<float2, 1> w", "float s = w[i][1];"),
        ("int2 p, Tensor<float, 2> w", "float s = w[p] + w[p.x, p.y] + w[p + 1] + w[p.yx];"),
        ("uint3 p, Tensor<float, 3> w", "float s = w[p];"),
        ("int i, Tensor<float, 2> w", "int2 i = 3; float s = w[i];"),
        ("int i, Tensor<float, 2> w", "int2 q = 3; { int q = 2; } float s = w[q];"),
        ("int i, Tensor<float, 2> w", "var q = i; let r = i; float s = w[q] + w[r];"),
        ("int i, Tensor<float, 2> v", "float w[3] = {}; float s = w[i];"),
        ("int i, Tensor<float, 2> w", "{ float w[3] = {}; float s = w[i]; }"),
        ("int i, Tensor<float, 2> w", "{ Tensor<float, 1> w = g(); float s = w[i]; }"),
        ("int i, Tensor<float, 2> w[3]", "float s = w[i][0, 0];"),
        ("int i, Tensor<float, 2> w, A a", "float s = a.w[i];"),
        ("int i[3], Tensor<float, 2> w", "float s = w[g(0)] + w[{1, 2}];"),
        ("int i, StructuredBuffer<float> w", "float s = w[i];"),
        ("int i, Tensor<float, 2> w", "uint n = w.shape[0] + w.shape[i];"),
    ],
)
def test_what_is_right_or_not_sure_is_not_warned_of(declared: str, body: str) -> None:
    assert said(declared, body) == []


def test_other_types_of_that_name_are_not_meant() -> None:
    own = "struct Tensor<T, let N : int> { __subscript(int i) -> T { get { return T(i); } } }"
    assert lint(Source(f"{own}\nfloat f(int i, Tensor<float, 2> w) {{ return w[i]; }}")) == ()
