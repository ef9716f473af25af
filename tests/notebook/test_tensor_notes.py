"""What a notebook says below an error about a tensor of SlangPy, and below no other error."""

from __future__ import annotations

from typing import Any

import pytest

from slangnb.notebook.tensor_notes import tensor_note

GENERAL = "a tensor lives on the device: `x.to_numpy()` gives its numbers; arithmetic belongs in a `%%slang` function"
NUMPY = "a tensor lives on the device: write `x.to_numpy()."
WHOLE = "a tensor is written as a whole: change an array, and give it to `x.copy_from_numpy(array)`"
BYTES = "SlangPy copies the bytes: give it the tensor's own shape and type, as in `np.ones(3, np.float32)`"
GRAD = "`sn.tensor(data, grad=True)` makes a tensor with a gradient of zeros, which is `x.grad`"


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("x.backward()", "for `y.backward()` write `f.bwds(..., _result=y)`, or `sn.grad(f)(...)`"),
        ("x.sum()", f"{NUMPY}sum(...)`"),
        ("x.T", f"{NUMPY}T`"),
        ("x.requires_grad", GRAD),
        ("x.shpe", "did you mean `x.shape`?"),
        ("x[0] = 5", WHOLE),
        ("x.copy_from_numpy(np.ones(3))", BYTES),
        *(
            (code, GENERAL)
            for code in (
                *("x.numpy()", "x.cpu()", "x + 1", "1 + x", "np.ones(3) * x", "x * x", "x ** 2", "-x", "abs(x)"),
                *("len(x)", "float(x)", "int(x)", "round(x)", "x > 1", "x @ x", "np.sin(x)", "sum(x)", "x += 1"),
            )
        ),
    ],
)
def test_what_people_do_to_a_tensor(shell: Any, capsys: pytest.CaptureFixture[str], code: str, note: str) -> None:
    shell.run_cell("import numpy as np, slangnb as sn\nx = sn.tensor(np.ones(3, np.float32))").raise_error()
    capsys.readouterr()
    assert not shell.run_cell(code).success
    assert capsys.readouterr().out.splitlines()[-1] == f"note: {note}"


@pytest.mark.parametrize("code", ["p -= 0.1", "p + 1", "2.0 * p", "p * p", "-p", "float(p)", "np.ones(2) * p"])
def test_what_people_do_to_a_parameter(shell: Any, capsys: pytest.CaptureFixture[str], code: str) -> None:
    shell.run_cell("import numpy as np, slangnb as sn\np = sn.Parameter(2.0)").raise_error()
    capsys.readouterr()
    assert not shell.run_cell(code).success
    assert capsys.readouterr().out.splitlines()[-1] == (
        "note: the number of a Parameter is `p.value`: write `p.value + 1`, or `p.value -= 0.1 * p.grad` to change it"
    )
    shell.run_cell("p.value -= 0.5").raise_error()
    assert shell.user_ns["p"].value == 1.5


@pytest.mark.parametrize(
    "code", ["1 + 'a'", "Tensor().sum()", "-Tensor", "x.sum()", "1 / 0", "x = = 1", "raise RuntimeError('no')"]
)
def test_other_errors_stay_as_they_are(shell: Any, capsys: pytest.CaptureFixture[str], code: str) -> None:
    shell.run_cell("class Tensor: pass")
    capsys.readouterr()
    assert not shell.run_cell(code).success
    assert "note:" not in capsys.readouterr().out


def test_torch_has_other_mistakes() -> None:
    assert tensor_note(TypeError("unsupported operand type(s) for +: 'Tensor' and 'str'")) == ""
    assert tensor_note(AttributeError("'Tensor' object has no attribute 'sum'")) == ""
    assert tensor_note(None) == ""
