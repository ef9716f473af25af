"""Devices of one process do not depend on one another's lives."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

TWO_SESSIONS = """
import gc, threading, numpy as np, slangnb as sn
SOURCE = "[Differentiable] float3 shade(float3 u, float t) {{ return u * t + float3(t * t); }}"
first, second = sn.Session({backend!r}), sn.Session({backend!r})
f, made = first.compile(SOURCE).shade, second.compile(SOURCE)
u, t = np.ones((5, 3), np.float32), np.ones(5, np.float32)
made.shade(u, t)

def end():
    global second, made
    second.close()
    second = made = None
    gc.collect()

if {elsewhere}:
    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
else:
    end()
print(f(u[:2], 2.0).to_numpy().tolist(), sn.grad(f)(u, t)["t"].tolist())
"""


def after_the_other(session: Any, elsewhere: bool) -> tuple[int, str]:
    """Run a session after another one, which was the last to be made, has ended."""
    code = TWO_SESSIONS.format(backend=session.backend.key, elsewhere=elsewhere)
    seen = {**os.environ, "MALLOC_PERTURB_": "165"}  # glibc overwrites what is freed: who reads it does not come far
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=seen)
    return done.returncode, done.stdout.strip() or done.stderr[-2000:]


RIGHT = "[[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]] [9.0, 9.0, 9.0, 9.0, 9.0]"


def test_a_session_outlives_another(session: Any) -> None:
    assert after_the_other(session, False) == (0, RIGHT)


def test_a_session_outlives_another_that_a_thread_ends(session: Any) -> None:
    """Its device may go in any thread that collects garbage; this ended the process with a segmentation fault."""
    assert after_the_other(session, True) == (0, RIGHT)
