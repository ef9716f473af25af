"""Slang functions on torch tensors, against torch itself and JAX, as a training loop runs them: nothing waits inside.

Run ``python tests/benchmarks/inside_torch.py``. On CUDA the session and torch share the card's memory; elsewhere torch
computes on the CPU, and slangnb on its backend. Each time is that of one of many calls in a row, with one wait at their
end: as many as take a tenth of a second, after as many that do not count. For where torch only waits for a card its
threads grow cold, and the next steps take up to twice as long. The unit is a copy of `x` timed in the same way. Errors
are against float64. Compare figures of one run only.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

import peers
from report import error_text, ratio, size_text, time_text
from run import sizes_of
from timing import Candidate, race, stopwatch

import slangnb as sn
from slangnb.runtime.current import set_session

SOURCE = "[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }"
B, C = 8.0, -1.0
Step = Callable[[], tuple[Any, Any, Any]]


def formula(a: Any, x: Any) -> Any:
    """The function that all compute."""
    return a * x * x + B * x + C


def torch_steps(torch: Any, f: Any, n: int, device: str) -> dict[str, Step]:
    """Give the ways to value, gradient of `a` and gradient of `x` through torch tensors."""
    x = torch.linspace(-1, 1, n, device=device).requires_grad_()
    a = torch.tensor(2.0, device=device, requires_grad=True)
    module = sn.torch.SlangModule(f, {}, reduce="sum")
    transform = sn.value_and_grad(f, wrt=("a", "x"))
    compiled = torch.compile(lambda a, x: formula(a, x).sum(), dynamic=False)
    values = torch.compile(lambda x: formula(2.0, x), dynamic=False)
    free = {"a": a.detach(), "x": x.detach()}

    def backward(loss: Callable[[], Any]) -> Step:
        def step() -> tuple[Any, Any, Any]:
            a.grad = x.grad = None
            value = loss()
            value.backward()
            return value.detach(), a.grad, x.grad

        return step

    ones = torch.ones_like(free["x"])

    def seeded(values: Callable[[], Any]) -> Step:
        def step() -> tuple[Any, Any, Any]:
            x.grad = None
            values().backward(ones)
            return None, None, x.grad

        return step

    def gradients() -> tuple[Any, Any, Any]:
        value, grads = transform(b=B, c=C, **free)
        return value, grads["a"], grads["x"]

    to = torch.empty_like(free["x"])

    def copy() -> tuple[Any, Any, Any]:
        to.copy_(free["x"])
        return None, None, None

    steps = {
        "copy of x": copy,
        "slangnb value_and_grad": gradients,
        "slangnb SlangModule(reduce), backward()": backward(lambda: module(a=a, b=B, c=C, x=x)),
        "slangnb f(...).sum(), backward()": backward(lambda: f(a, B, C, x).sum()),
        "torch eager": backward(lambda: formula(a, x).sum()),
        "torch.compile": backward(lambda: compiled(a, x)),
        "slangnb f(...).backward(ones)": seeded(lambda: f(2.0, B, C, x)),
        "torch eager, backward(ones)": seeded(lambda: formula(2.0, x)),
        "torch.compile, backward(ones)": seeded(lambda: values(x)),
    }
    if device != "cpu":  # there SlangPy ends the process
        steps["SlangPy f(...).sum(), backward()"] = backward(lambda: f.slangpy(a=a, b=B, c=C, x=x).sum())
        steps["SlangPy f(...).backward(ones)"] = seeded(lambda: f.slangpy(a=2.0, b=B, c=C, x=x))
    return steps


def jax_step(jax: Any, n: int, gpu: bool) -> Step:
    """Give JAX's way."""
    a, x = jax.device_put((2.0, jax.numpy.linspace(-1, 1, n)), peers.jax_device(gpu))
    both = jax.jit(jax.value_and_grad(lambda w: formula(*w).sum()))

    def step() -> tuple[Any, Any, Any]:
        value, (da, dx) = both((a, x))
        return value, da, dx

    return step


def errors(found: tuple[Any, Any, Any], torch: Any, n: int, device: str) -> str:
    """Say how far value and gradients are from float64."""
    x = torch.linspace(-1, 1, n, device=device).double()
    value, da, dx = found
    off = []
    for got, want in ((value, formula(2.0, x).sum()), (da, (x * x).sum()), (dx, 4 * x + B)):
        if got is None:
            off.append("")
            continue
        here = torch.tensor(peers.host(got), device=device).double()
        off.append(error_text(float((here - want).abs().max() / want.abs().max())))
    return "  ".join(f"{e:>8}" for e in off)


def main(arguments: list[str]) -> int:
    """Print a table for each size."""
    p = argparse.ArgumentParser(description="Slang functions inside torch, against torch and JAX")
    p.add_argument("--backend", help="cuda, vulkan, software, ...; by default the best that works")
    p.add_argument("--sizes", type=sizes_of, default=[2**10, 2**22, 2**26], help="numbers of elements")
    chosen = p.parse_args(arguments)
    os.environ.setdefault("SLANGPY_ALLOW_TORCH_FALLBACK", "1")  # for plain SlangPy, without its bridge
    session = sn.Session(chosen.backend)
    set_session(session)
    torch, jax = peers.load("torch"), peers.load("jax")
    if torch is None:
        print("this needs PyTorch", file=sys.stderr)
        return 2
    gpu = session.backend.name == "cuda"
    device = "cuda" if gpu else "cpu"
    f = session.compile(SOURCE).polynomial
    card = torch.cuda.get_device_name() if gpu else "CPU"
    print(f"slangnb on {session.backend.key} ({session.backend.adapter}); torch {torch.__version__} on {card}")
    for n in chosen.sizes:
        steps = torch_steps(torch, f, n, device)
        if jax is not None:
            steps["JAX jit"] = jax_step(jax, n, gpu)
        field, found, calls = [], {}, {}
        for name, step in steps.items():
            try:
                found[name] = errors(step(), torch, n, device)
            except (RuntimeError, ValueError, TypeError, sn.SlangNbError) as reason:
                print(f"  {name}: {str(reason).splitlines()[0]}")
                continue
            calls[name] = _calls(step, torch, jax, gpu)
            field.append(Candidate(name, _many(step, calls[name], torch, jax, gpu)))
        times = race(field, 10.0, sample=0.05, warm=0.1)
        each = {name: t.least / calls[name] for name, t in times.items()}
        print(f"\nN = {size_text(n)}{'':<32}time      copy  errors: value, da, dx")
        for name, t in each.items():
            print(f"  {name:<40} {time_text(t):>9} {ratio(t / each['copy of x']):>7}  {found[name]}")
        peers.release()
    session.close()
    return 0


def _calls(step: Step, torch: Any, jax: Any, gpu: bool) -> int:
    """Give how many calls take a tenth of a second; it warms up, too."""
    few = _many(step, 4, torch, jax, gpu)
    few()  # a call's third backward pass may go another way than the first
    with stopwatch() as seconds:
        few()
    return max(3, min(500, round(0.4 / seconds())))


def _many(step: Step, calls: int, torch: Any, jax: Any, gpu: bool) -> Callable[[], dict[str, Any]]:
    def run() -> dict[str, Any]:
        last: Any = None
        for _ in range(calls):
            last = step()
        if gpu:
            torch.cuda.synchronize()
        if hasattr(last[1], "block_until_ready"):
            jax.block_until_ready(last)
        return {}

    return run


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
