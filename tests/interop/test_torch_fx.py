"""torch.fx traces functions with values that hold no numbers."""

import subprocess
import sys
from typing import Any

import pytest

import slangnb as sn

torch = pytest.importorskip("torch")
fx = pytest.importorskip("torch.fx")

SOURCE = "[Differentiable] float f(float a, float x) { return a * x * x; }"
CALL = f"""
import torch, torch.fx
import slangnb as sn
f = sn.session().compile("{SOURCE}").f
try:
    torch.fx.symbolic_trace(TRACED)
except sn.CallError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("traced", "argument"),
    [("lambda x: f(2.0, x)", "x"), ("torch.nn.Sequential(sn.torch.SlangModule(f, {'a': 2.0}))", "a")],
)
def test_a_proxy_is_refused_with_a_remedy(traced: str, argument: str) -> None:
    code = CALL.replace("TRACED", traced)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.startswith(f"f: {argument!r} is a value of type torch.fx.proxy.Proxy"), (ran.returncode, ran)
    assert "torch.fx.wrap" in ran.stdout


def test_the_remedy_works() -> None:
    f = sn.session().compile(SOURCE).f

    class Tracer(fx.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return isinstance(m, sn.torch.SlangModule) or super().is_leaf_module(m, module_qualified_name)

    net = torch.nn.Sequential(sn.torch.SlangModule(f, {"a": 2.0}))
    traced = fx.GraphModule(net, Tracer().trace(net))
    assert traced(torch.tensor([1.0, 3.0])).tolist() == [2.0, 18.0]
