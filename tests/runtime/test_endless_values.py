"""Values that answer every attribute: SlangPy follows them until the process dies, so each call has its own."""

import subprocess
import sys

import pytest

import slangnb as sn

CALL = """
from unittest.mock import MagicMock
import slangnb as sn
f = sn.session().compile("[Differentiable] float f(float a, float x) { return a * x * x; }").f
try:
    CALL
except sn.CallError as error:
    print(error.argument, error)
"""


@pytest.mark.parametrize(
    "call", ["f(2.0, MagicMock())", "f(2.0, x=MagicMock())", "sn.value_and_grad(f, 'a')(a=2.0, x=MagicMock())"]
)
def test_a_mock_is_refused_by_name(call: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CALL.replace("CALL", call)], capture_output=True, text=True, timeout=60, check=False
    )
    message = "x f: 'x' is a value of type unittest.mock.MagicMock, which makes up every attribute"
    assert ran.stdout.startswith(message), (ran.returncode, ran.stderr)


class Doubled:
    """Gives its number by an attribute of the instance, beside a `__getattr__` of its own."""

    def __init__(self, number: float) -> None:
        self.get_this = lambda: 2 * number

    def __getattr__(self, name: str) -> float:
        raise AttributeError(name)


def test_objects_of_slangpys_protocol_are_passed() -> None:
    f = sn.session().compile("float f(float a, float x) { return a * x * x; }").f
    assert f(2.0, Doubled(1.5)) == 18.0
