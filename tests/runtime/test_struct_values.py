"""Tensors of structs are read field by field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.autodiff.gradcheck_values import read
from slangnb.compiler.reflection import type_info
from slangnb.runtime.struct_values import fields_of

SOURCE = """
struct Inner { float2 p; bool on; }
struct One { float x; }
struct Outer { int n; Inner inner; One many[2]; }
Outer outer(float x) { return { int(x), { { x, 2 * x }, x > 1 }, { { x }, { x } } }; }
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
    with pytest.raises(sn.GradientError, match=r"^gradcheck cannot read the field 'many' of type One\[2\]$"):
        read(made, type_info(made.dtype))
