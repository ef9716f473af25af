"""A process forked from one with an open session refuses its calls at once, and ends without harm to the parent.

The forks are made in an interpreter of its own: a test process has threads of many libraries, which forks endanger.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

SCRIPT = """
import json, multiprocessing, os
import numpy as np
import slangnb as sn
from slangnb.runtime.current import set_session
from slangnb.runtime.session import Session

context = multiprocessing.get_context("fork")


def in_child(ask):
    ours, theirs = context.Pipe(duplex=False)

    def run():
        try:
            theirs.send(f"gave {ask()}")
        except sn.SlangNbError as error:
            theirs.send(f"{type(error).__name__}: {error}")

    child = context.Process(target=run)
    child.start()
    said = ours.recv() if ours.poll(20) else "no answer"
    child.join(10)
    if child.is_alive():
        child.kill()
        said += ", and no end"
    return said


if __name__ == "__main__":
    session = Session(os.environ.get("SLANGNB_TEST_BACKEND"))
    set_session(session)
    f = session.compile("[Differentiable] float square(float x) { return x * x; }").square
    x = np.full(4, 3, np.float32)
    f(x), sn.grad(f)(x)
    pid = session.guard.pid
    found = {
        "call": in_child(lambda: f(x, _result="numpy")),
        "grad": in_child(lambda: sn.grad(f)(x)),
        "vjp": in_child(lambda: sn.vjp(f, x)),
        "jvp": in_child(lambda: sn.jvp(f, {"x": x}, {"x": x})),
        "gradcheck": in_child(lambda: sn.gradcheck(f, x)),
        "tensor": in_child(lambda: sn.tensor(x)),
        "compile": in_child(lambda: session.compile("float other(float x) { return x; }")),
        "device": in_child(lambda: sn.session().device),
        "nothing": in_child(lambda: "nothing"),
        "close": in_child(session.close),
        "guard": pid == session.guard.pid,
        "parent": f(x, _result="numpy").tolist(),
        "compiled": session.compile("float later(float x) { return x + 1; }").later(1.0),
    }
    print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_processes() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for way in ("call", "grad", "vjp", "jvp", "gradcheck", "tensor", "compile", "device"):
        assert found[way].startswith("BackendError: this process was forked while a session was open"), way
        assert "spawn" in found[way]
    # One that does not call is let be, and none ends the parent's guard.
    assert (found["nothing"], found["close"]) == ("gave nothing", "gave None")
    assert found["guard"] is True
    assert (found["parent"], found["compiled"]) == ([9.0, 9.0, 9.0, 9.0], 2.0)


def test_functions_cannot_be_sent_to_other_processes(session: Any) -> None:
    f = session.compile("float twice(float x) { return 2 * x; }").twice
    with pytest.raises(TypeError, match="compile them in each process"):
        pickle.dumps(f)
