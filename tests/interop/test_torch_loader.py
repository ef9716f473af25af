"""Workers of torch's DataLoader while a session is open."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# In an interpreter of its own, since a test process has threads of many libraries, which forks endanger.
SCRIPT = """
import json, os
import torch
import slangnb as sn
from slangnb.runtime.current import set_session
from slangnb.runtime.session import Session


class Numbers(torch.utils.data.Dataset):
    def __init__(self, function=None):
        self.function = function

    def __len__(self):
        return 8

    def __getitem__(self, i):
        x = torch.tensor(float(i))
        return x if self.function is None else self.function(x)


def loader(data):
    return torch.utils.data.DataLoader(data, 4, num_workers=2, multiprocessing_context="fork", timeout=60)


if __name__ == "__main__":
    session = Session(os.environ.get("SLANGNB_TEST_BACKEND"))
    set_session(session)
    f = session.compile("[Differentiable] float twice(float x) { return 2 * x; }").twice
    found = {"before": f(torch.ones(2)).tolist()}
    a = torch.zeros((), requires_grad=True)
    for batch in loader(Numbers()):
        f(batch * a).sum().backward()
    found["gradient"] = a.grad.item()
    try:
        list(loader(Numbers(f)))
    except sn.BackendError as error:
        found["error"] = str(error)
    found["after"] = f(torch.ones(2)).tolist()
    print(json.dumps(found))
"""


def test_workers() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["gradient"] == 2 * 28  # workers that only load, and a function in the loop over the batches
    assert "this process was forked while a session was open" in found["error"]
    assert "spawn" in found["error"]
    assert found["before"] == found["after"] == [2.0, 2.0]
