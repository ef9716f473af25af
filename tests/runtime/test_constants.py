"""``f.constants({...})``: only names that the source declares, and values that their types hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import slangnb as sn

SOURCE = """
extern static const int K = 3;
extern static const float SCALE = 1.5;
extern static const bool FLIP = false;
extern static const uint8_t SMALL = 1;
extern static const float3 WAY = float3(1, 2, 3);
static const int FIXED = 1;
[Differentiable] float f(float x) { return (FLIP ? -x : x) * K * SCALE * float(SMALL) * WAY.y * FIXED; }
"""


@pytest.fixture
def f(session: Any) -> Any:
    return session.compile(SOURCE).f


@pytest.mark.parametrize(
    ("constants", "right"),
    [
        ({}, 9.0),
        ({"K": 5}, 15.0),
        ({"K": np.int64(5)}, 15.0),
        ({"SCALE": 2}, 12.0),
        ({"SCALE": np.float32(2.5)}, 15.0),
        ({"FLIP": True}, -9.0),
        ({"SMALL": 255}, 2295.0),
    ],
)
def test_values_that_fit(f: Any, constants: dict[str, Any], right: float) -> None:
    changed = f.constants(constants)
    assert changed(1.0) == right
    assert sn.value_and_grad(changed)(1.0) == (right, {"x": right})


def test_vectors(f: Any) -> None:
    assert f.constants({"WAY": spy.float3(1, 5, 1)})(1.0) == 22.5


@pytest.mark.parametrize(
    ("constants", "text"),
    [
        ({"k": 5}, r"f: there is no constant 'k' to set\nremedy: did you mean 'K'\?"),
        ({"SCALES": 5.0}, r"remedy: did you mean 'SCALE'\?"),
        ({"FIXED": 5}, "remedy: declare it at the top of the module: extern static const int FIXED = 0;"),
        ({"K": 2**40}, "'K' is int, and 1099511627776 is no value for it\nremedy: pass an int from -2147483648 to"),
        ({"K": 2.7}, "'K' is int, and 2.7 is no value"),
        ({"K": True}, "'K' is int, and True is no value"),
        ({"FLIP": 1}, "'FLIP' is bool, and 1 is no value for it\nremedy: pass True or False"),
        ({"SMALL": 300}, "'SMALL' is uint8_t, and 300 is no value for it\nremedy: pass an int from 0 to 255"),
        ({"SCALE": float("nan")}, "'SCALE' is float, and nan is no value for it\nremedy: pass a finite number"),
        ({"SCALE": 1e39}, r"'SCALE' is float, and 1e\+39 is no value"),
        ({"WAY": 1.0}, r"'WAY' is float3, and 1.0 is no value for it\nremedy: pass slangpy.float3\(...\)"),
    ],
)
def test_what_does_not_fit_is_refused(f: Any, constants: dict[str, Any], text: str) -> None:
    with pytest.raises(sn.CallError, match=text):
        f.constants(constants)


def test_constants_of_imported_modules(session: Any) -> None:
    session.compile("extern static const int DEEP = 2; int deep() { return DEEP; }", name="deep_constants")
    session.compile("import deep_constants; int middle() { return deep(); }", name="middle_constants")
    g = session.compile("import middle_constants; float g(float x) { return x * middle(); }").g
    assert g.constants({"DEEP": 7})(1.0) == 7.0


def test_constants_that_the_module_does_not_declare_any_more(session: Any) -> None:
    code = "extern static const int {name} = 3; [Differentiable] float h(float x) {{ return x * {name}; }}"
    changed = session.compile(code.format(name="OLD"), name="consts").h.constants({"OLD": 4})
    assert changed(1.0) == 4.0
    session.compile(code.format(name="NEW"), name="consts")
    for call in (changed, sn.grad(changed)):
        with pytest.raises(sn.CallError, match="there is no constant 'OLD' to set"):
            call(1.0)


def test_a_constant_that_has_another_type_now(session: Any) -> None:
    code = "extern static const {t} NUMBER = 3; [Differentiable] float h(float x) {{ return x * NUMBER; }}"
    changed = session.compile(code.format(t="int"), name="typed_consts").h.constants({"NUMBER": 4})
    session.compile(code.format(t="float"), name="typed_consts")
    assert changed(1.0) == 4.0
    assert sn.grad(changed)(1.0) == {"x": 4.0}
