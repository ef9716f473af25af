"""Tensors of structs are read field by field."""

from __future__ import annotations

from typing import Any

import numpy as np

from slangnb.compiler.reflection import type_info
from slangnb.runtime.struct_values import fields_of

SOURCE = """
struct Inner { float2 p; bool on; }
struct Outer { int n; Inner inner; Inner many[1]; }
Outer outer(float x) { return { int(x), { { x, 2 * x }, x > 1 }, { { { x, x }, true } } }; }
"""


def test_fields_have_the_shape_of_the_tensor_and_then_their_own(session: Any) -> None:
    x = np.array([1, 3], np.float32)
    made = session.compile(SOURCE).outer(x, _result="tensor")
    found = fields_of(made, type_info(made.dtype))
    assert list(found) == ["n", "inner", "many"] and list(found["inner"]) == ["p", "on"]
    assert found["n"].tolist() == [1, 3]
    assert found["inner"]["p"].tolist() == [[1, 2], [3, 6]]
    assert found["inner"]["on"].tolist() == [False, True]
    assert found["many"] is None
