"""numpy, torch eager, torch.compile and JAX as candidates.

torch and JAX are optional. They are imported only when they are asked for, and only after the driver of the software
backend is in place.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any

import numpy as np
from timing import Candidate
from work import Work


def load(name: str) -> Any:
    """Give an optional library; None if it is not installed."""
    if importlib.util.find_spec(name) is None:
        return None
    if name == "jax":
        # By default JAX takes three quarters of a card's memory at once, and multiplies matrices in TF32.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    library = importlib.import_module(name)
    if name == "jax":
        library.config.update("jax_default_matmul_precision", "float32")
    return library


def torch_device(gpu: bool) -> str:
    """Give the device that torch works on beside a backend: the card for a card, else the CPU."""
    torch = load("torch")
    return "cuda" if gpu and torch is not None and torch.cuda.is_available() else "cpu"


def jax_device(gpu: bool) -> Any:
    """Give the device that JAX works on beside a backend: the card for a card, else the CPU."""
    jax = load("jax")
    return jax.devices()[0] if gpu else jax.devices("cpu")[0]


def host(value: Any) -> np.ndarray:
    """Give a number or an array of any of the libraries as numpy."""
    if hasattr(value, "to_numpy"):  # SlangPy; its tensors have a `detach` too
        return value.to_numpy()
    if hasattr(value, "detach"):  # torch
        return value.detach().cpu().numpy()
    return np.asarray(value)


def release() -> None:
    """Give back what the libraries keep of a workload, so that the next one finds the memory and compiles afresh."""
    torch = load("torch")
    if torch is not None:
        torch._dynamo.reset()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    jax = load("jax")
    if jax is not None:
        jax.clear_caches()


def candidates(work: Work, gpu: bool) -> list[Candidate]:
    """Give the peers of one workload."""
    return [*_torch(work, gpu), _jax(work, gpu), _numpy(work, gpu)]


def copies(work: Work, gpu: bool) -> list[Candidate]:
    """Give the copies of `x` by the peers; each makes a new array, but for numpy."""
    found = []
    torch, jax = load("torch"), load("jax")
    if torch is None:
        found.append(Candidate("torch clone", dict, missing="not installed"))
    else:
        device = torch_device(gpu)
        tensor = torch.from_numpy(work.x).to(device)
        wait = torch.cuda.synchronize if device == "cuda" else _nothing

        def clone() -> dict[str, Any]:
            made = tensor.clone()
            wait()
            return {"value": made}

        found.append(Candidate("torch clone", clone, note=device))
    if jax is None:
        found.append(Candidate("JAX copy", dict, missing="not installed"))
    else:
        array = jax.device_put(work.x, jax_device(gpu))
        note = array.devices().pop().platform
        found.append(Candidate("JAX copy", lambda: {"value": jax.block_until_ready(array.copy())}, note=note))
    to = np.empty_like(work.x)
    found.append(Candidate("numpy copyto", lambda: {"value": to} if np.copyto(to, work.x) is None else {}, note="cpu"))
    return found


def _nothing() -> None:
    pass


def _torch(work: Work, gpu: bool) -> list[Candidate]:
    torch = load("torch")
    if torch is None:
        return [Candidate(name, dict, missing="not installed") for name in ("torch eager", "torch.compile")]
    device = torch_device(gpu)
    made = {k: torch.as_tensor(v, dtype=torch.float32).to(device) for k, v in work.shared.items() if k in work.wanted}
    shared = {k: made.get(k, v) for k, v in work.shared.items()}
    x = torch.from_numpy(work.x).to(device)
    leaves = {k: x if k == "x" else made[k] for k in work.wanted}
    for leaf in leaves.values():
        leaf.requires_grad_()
    wait = torch.cuda.synchronize if device == "cuda" else _nothing

    def values(**arguments: Any) -> Any:
        return work.formula(torch, **arguments)

    def loss(**arguments: Any) -> Any:
        return work.formula(torch, **arguments).sum()

    def runner(function: Any) -> Any:
        def run() -> dict[str, Any]:
            if work.mode == "forward":
                with torch.no_grad():
                    result = {"value": function(**shared, x=x)}
            else:
                for leaf in leaves.values():
                    leaf.grad = None
                value = function(**shared, x=x)
                value.backward()
                result = {"value": value, **{k: leaf.grad for k, leaf in leaves.items()}}
            wait()
            return result

        return run

    function = values if work.mode == "forward" else loss
    note = device + (", forward + backward" if work.mode == "backward" else "")
    return [
        Candidate("torch eager", runner(function), note=note),
        Candidate("torch.compile", runner(torch.compile(function, dynamic=False)), note=note),
    ]


def _jax(work: Work, gpu: bool) -> Candidate:
    jax = load("jax")
    if jax is None:
        return Candidate("JAX jit", dict, missing="not installed")
    device = jax_device(gpu)
    fixed = {k: v for k, v in work.shared.items() if k not in work.wanted}
    given = {k: v for k, v in work.shared.items() if k in work.wanted}
    arguments = jax.device_put({**given, "x": work.x}, device)
    wanted = {k: arguments.pop(k) for k in tuple(arguments) if k in work.wanted}

    def values(wanted: dict[str, Any], rest: dict[str, Any]) -> Any:
        return work.formula(jax.numpy, **fixed, **wanted, **rest)

    def loss(wanted: dict[str, Any], rest: dict[str, Any]) -> Any:
        return values(wanted, rest).sum()

    functions = {
        "forward": lambda w, r: (values(w, r), {}),
        "backward": lambda w, r: (None, jax.grad(loss)(w, r)),
        "value_and_grad": jax.value_and_grad(loss),
    }
    function = jax.jit(functions[work.mode])

    def run() -> dict[str, Any]:
        value, grads = jax.block_until_ready(function(wanted, arguments))
        return {"value": value, **grads} if value is not None else grads

    return Candidate("JAX jit", run, note=device.platform)


def _numpy(work: Work, gpu: bool) -> Candidate:
    shared = {k: np.float32(v) if isinstance(v, float) else v for k, v in work.shared.items()}
    note = "written by hand" + (", cpu" if gpu else "")
    return Candidate("numpy", lambda: work.by_hand(work.mode, x=work.x, **shared), note=note)
