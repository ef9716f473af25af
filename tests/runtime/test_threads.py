"""Threads that compile and call at the same time: each gets its own answer, and its own warnings."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.fused.plans import Plans
from slangnb.runtime.session import Session


def together(work: Callable[[int], None], count: int = 4) -> None:
    """Run threads with numbers at the same time, until all have ended."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


@pytest.fixture
def hasty() -> Any:
    """Have threads take turns after each step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("guard", [True, False])
def test_each_thread_hears_of_its_own_faults(session: Any, guard: bool) -> None:
    """The child's answers, and what the compiler logs, came to whoever asked first."""
    own, unique = Session(session.backend.key, guard=guard), time.time_ns()
    heard: list[tuple[bool, str]] = []

    def work(k: int) -> None:
        for i in range(8):
            faulty = (k + i) % 2 == 0
            body = "if (x > 0) return x;" if faulty else f"return x * {unique % 1000};"
            try:
                own.compile(f"float f{k}_{i}_{unique}(float x) {{ {body} }}")
                heard.append((faulty, ""))
            except sn.CompileError as error:
                heard.append((faulty, f"f{k}_{i}_" if f"f{k}_{i}_" in str(error) else str(error)))

    together(work)
    own.close()
    wrong = [(faulty, said) for faulty, said in heard if bool(said) != faulty or len(said) > 6]
    assert wrong == []
    assert len(heard) == 32


def test_plans_of_many_threads(hasty: Any) -> None:
    class Small:
        bytes = 1

    plans, faults = Plans(), []

    def work(k: int) -> None:
        try:
            for i in range(3000):
                plans.get((i * (k + 3)) % 97, Small)
        except (RuntimeError, KeyError) as error:
            faults.append(repr(error))

    together(work)
    assert faults == []


def test_gradients_of_many_threads(session: Any) -> None:
    unique = time.time_ns() % 1000
    m = session.compile(
        f"[Differentiable] float line(float a, float x) {{ return a * x * x + {unique} * x; }}", name="m"
    )
    wrong: list[Any] = []

    def work(k: int) -> None:
        x = np.full(10 + k, k + 1, np.float32)
        value, grads = sn.value_and_grad(m.line)(1.0, x)
        if value != (10 + k) * ((k + 1) ** 2 + unique * (k + 1)) or grads["a"] != (10 + k) * (k + 1) ** 2:
            wrong.append((k, value, grads["a"]))

    together(work, 5)
    assert wrong == []


def test_a_session_once_the_main_thread_has_ended(session: Any) -> None:
    code = f"""
import threading, slangnb as sn
def late():
    threading.main_thread().join()
    print(sn.Session({session.backend.key!r}, guard=False).compile("float f(float x) {{ return 2 * x; }}").f(4.0))
threading.Thread(target=late).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert (done.stdout.strip(), done.returncode) == ("8.0", 0), done.stderr[-2000:]
