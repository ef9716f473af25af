"""Tensors of structs that were made before their struct changed are refused, not read with other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slangnb as sn

CODE = """
struct Pair : IDifferentiable {{ {fields} }};
[Differentiable] float weigh(Pair p, float x) {{ return p.a * x + 0 * p.b; }}
[Differentiable] void put(Pair p, float x, out float y) {{ y = p.a * x; }}
T any<T : __BuiltinFloatingPointType>(Pair p, T x) {{ return T(p.a) * x; }}
Pair make(float q) {{ Pair p; p.a = q; p.b = 10 * q; return p; }}
void fill(float q, out Pair p) {{ p.a = q; p.b = 10 * q; }}
"""
F = np.float32
X = np.array([1, 2, 3], F)
OLD, NEW = "float b; float a;", "float a; float b;"
GONE = r"was made before Pair changed: its fields lie elsewhere now\nremedy: make it again"


def modules(session: Any, new: str) -> tuple[Any, Any]:
    """Give a tensor of the old struct, and the module with the new one."""
    old = session.compile(CODE.format(fields=OLD), name="pairs").make(sn.tensor(X))
    return old, session.compile(CODE.format(fields=new), name="pairs")


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda m, p: sn.grad(m.weigh, "x")(p, X),
    "vjp": lambda m, p: sn.vjp(m.weigh, p, X),
    "jvp": lambda m, p: sn.jvp(m.weigh, {"p": p, "x": X}, {"x": 1.0}),
    "call": lambda m, p: m.weigh(p, X, _result="numpy"),
    "generic call": lambda m, p: m.any(p, X, _result="numpy"),
    "output": lambda m, p: m.fill(X, p),
    "result": lambda m, p: m.make(X, _result=p),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("new", [NEW, "float3 u; float a; float b;", "float b; float a; int c;"])
def test_after_a_change(session: Any, call: str, new: str) -> None:
    old, module = modules(session, new)
    for _ in range(2):
        with pytest.raises(sn.CallError, match=GONE):
            CALLS[call](module, old)
        CALLS[call](module, module.make(sn.tensor(X)))  # a call with the new struct does not let the old one in


def test_new_tensors_are_right(session: Any) -> None:
    _, module = modules(session, NEW)
    new = module.make(sn.tensor(X))
    assert sn.grad(module.weigh, "x")(new, X).tolist() == [1, 2, 3]
    assert module.weigh(new, X, _result="numpy").tolist() == [1, 4, 9]


def test_backward(session: Any) -> None:
    old, module = modules(session, NEW)
    x, y = sn.tensor(X, grad=True), sn.tensor(X, grad=True)
    y.grad.copy_from_numpy(np.ones(3, F))
    with pytest.raises(sn.CallError, match=GONE):
        module.put.bwds(old, x, y)
    module.put.bwds(module.make(sn.tensor(X)), x, y)
    assert x.grad.to_numpy().tolist() == [1, 2, 3]
    with pytest.raises(sn.CallError, match=GONE):
        module.put.bwds(old, x, y)


def test_structs_within_structs(session: Any) -> None:
    code = "struct In {{ {fields} }}; struct Out {{ In i; float c; }};"
    code += (
        "Out make(float q) {{ Out o; o.i.a = q; o.i.b = 0; o.c = q; return o; }} float get(Out o) {{ return o.i.a; }}"
    )
    old = session.compile(code.format(fields=OLD), name="nested").make(sn.tensor(X))
    module = session.compile(code.format(fields=NEW), name="nested")
    with pytest.raises(sn.CallError, match="'o' was made before Out changed"):
        module.get(old)


def test_tensors_survive_what_leaves_the_struct_alone(session: Any) -> None:
    old = session.compile(CODE.format(fields=NEW), name="pairs").make(sn.tensor(X))
    module = session.compile(CODE.format(fields=NEW) + "\nfloat other(float x) { return x; }", name="pairs")
    assert sn.grad(module.weigh, "x")(old, X).tolist() == [1, 2, 3]
    user = session.compile("import pairs; float twice(Pair p) { return 2 * p.a; }")
    assert user.twice(module.make(sn.tensor(X))).to_numpy().tolist() == [2, 4, 6]
