"""What slangnb adds to a call of SlangPy, and the time from a new kernel to the first gradient.

Run ``python tests/benchmarks/overhead.py``. All figures of one run stand side by side: compare within a run only.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import slangnb as sn

SOURCE = "[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }"
FIRST_GRADIENT = f"""
import time; start = time.perf_counter()
import numpy as np, slangnb as sn
imported = time.perf_counter()
f = sn.session().compile({SOURCE!r}).polynomial
compiled = time.perf_counter()
x = sn.tensor([1, 2, 3, 4], grad=True)
y = f(a=2, b=8, c=-1, x=x, _result="tensor").with_grads()
y.grad.copy_from_numpy(np.ones(4, np.float32))
f.bwds(a=2, b=8, c=-1, x=x, _result=y)
assert x.grad.to_numpy().tolist() == [12, 16, 20, 24]
print(imported - start, compiled - imported, time.perf_counter() - compiled)
"""


def host_microseconds(
    calls: dict[str, Callable[[], Any]], wait: Callable[[], None], rounds: int = 201
) -> dict[str, float]:
    """Give the least host time of each call over many rounds, as `timeit` advises: the rest is noise.

    The calls take turns, so that a busy machine hits all alike.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            wait()
            start = time.thread_time()  # of the calling thread alone: what else runs on the machine does not count
            for _ in range(20):
                call()
            times[name].append((time.thread_time() - start) / 20 * 1e6)
    return {name: min(t) for name, t in times.items()}


def main() -> None:
    """Print the table."""
    session = sn.session()
    f = session.compile(SOURCE).polynomial
    raw = f.slangpy
    x, made = sn.tensor([1.0, 2.0, 3.0, 4.0]), sn.tensor(np.zeros(4, np.float32))
    xg, yg = x.with_grads(), made.with_grads()
    numbers = {"a": 2.0, "b": 8.0, "c": -1.0}
    bwds, raw_bwds = f.bwds, raw.bwds
    calls = {
        "forward, SlangPy": lambda: raw(**numbers, x=x, _result=made),
        "forward, slangnb": lambda: f(**numbers, x=x, _result=made),
        "backward, SlangPy": lambda: raw_bwds(**numbers, x=xg, _result=yg),
        "backward, slangnb (accumulate=True)": lambda: bwds(**numbers, x=xg, _result=yg, accumulate=True),
        "backward, slangnb (from zero)": lambda: bwds(**numbers, x=xg, _result=yg),
    }
    for call in calls.values():
        call()
    print(f"{session.backend.key} ({session.backend.adapter}), host time of a cached call on 4 elements")
    times = host_microseconds(calls, session.device.wait)
    for name, t in times.items():
        print(f"  {name:<38} {t:8.1f} us")
    added = times["forward, slangnb"] - times["forward, SlangPy"]
    print(f"  added to a forward call: {added:.1f} us, {times['forward, slangnb'] / times['forward, SlangPy']:.2f}x")
    session.close()
    for run in range(4):
        done = subprocess.run([sys.executable, "-c", FIRST_GRADIENT], capture_output=True, text=True, check=True)
        a, b, c = map(float, done.stdout.split())
        print(f"new process {run}: import {a:.2f} s, device and compile {b:.2f} s, first gradient {c:.2f} s")


if __name__ == "__main__":
    main()
