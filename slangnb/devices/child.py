"""The child process: probes a backend, or compiles modules and kernels for the guard.

Run as ``python -m slangnb.devices.child --probe JSON`` or ``--guard JSON``. The guard's child reads pickled requests
from its standard input and answers on its standard output; nothing else is written there.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from slangnb.devices.backend import Backend, import_slangpy

if TYPE_CHECKING:
    import slangpy

    from slangnb.compiler.loading import Loaded

PROBE_SOURCE = """
[Differentiable]
float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }
"""


def probe(backend: Backend) -> dict[str, list[int]]:
    """Run 2x^2 + 8x - 1 and its derivative 4x + 8 at 1, 2, 3, 4 on `backend`."""
    import slangpy as spy

    from slangnb.compiler.loading import load
    from slangnb.devices.opening import open_device

    device = open_device(backend, enable_print=False)
    f: Any = load(device, "probe", PROBE_SOURCE).module.polynomial
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3, 4], np.float32)).with_grads(zero=True)
    y = f(a=2.0, b=8.0, c=-1.0, x=x, _result="tensor")
    values = y.to_numpy()
    y = y.with_grads(zero=True)
    y.grad.copy_from_numpy(np.ones(4, np.float32))
    f.bwds(a=2.0, b=8.0, c=-1.0, x=x, _result=y)
    return {"values": values.tolist(), "gradient": x.grad.to_numpy().tolist()}


@dataclass
class Compiler:
    """Answers the guard's requests: holds one device and the modules loaded so far."""

    device: slangpy.Device
    loaded: dict[str, Loaded] = field(default_factory=dict)

    def answer(self, request: dict[str, Any]) -> tuple[str, str]:
        """Give ``("ok", warnings)`` or ``("error", text)``."""
        from slangnb.compiler.loading import slangpy_errors
        from slangnb.devices.log import captured_log

        with captured_log() as log:
            try:
                for name, text, link in request["modules"]:
                    self._load(name, text, link)
                if "entry" in request:
                    self._link(request["modules"], request["entry"])
                elif "function" in request:
                    self._build(request)
            except slangpy_errors() as error:
                return "error", log.before(error)
            return "ok", log.text()

    def _load(self, name: str, text: str, link: list[str]) -> None:
        from slangnb.compiler.loading import load

        if name not in self.loaded:
            self.loaded[name] = load(self.device, name, text, [self.loaded[n] for n in link], eager=True)

    def _link(self, modules: list[tuple[str, str, list[str]]], entry: str) -> None:
        raws = [self.loaded[name].raw for name, _, _ in modules]
        program = self.device.link_program(raws, [raws[-1].entry_point(entry)])
        self.device.create_compute_pipeline(program, defer_target_compilation=False)

    def _build(self, request: dict[str, Any]) -> None:
        from slangnb.compiler.loading import function_node
        from slangnb.devices.wire import rebuild

        loaded = self.loaded[request["modules"][-1][0]]

        def value(d: Any) -> Any:
            return rebuild(d, self.device, loaded)

        node: Any = function_node(loaded, request["function"], request["own"])
        for method, args, kwargs in request["chain"]:
            node = getattr(node, method)(*map(value, args), **{k: value(v) for k, v in kwargs.items()})
        if request["backward"]:
            node = node.bwds
        named = {k: value(v) for k, v in request["kwargs"].items()}
        if isinstance(named.get("_result"), str):  # a call understands "tensor" and "numpy"; building alone does not
            node = node.return_type(named.pop("_result"))
        node.debug_build_call_data(*map(value, request["args"]), **named)


def serve(backend: Backend, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the pipe ends."""
    from slangnb.devices.opening import open_device

    compiler = Compiler(open_device(backend, enable_print=True))
    pickle.dump(("ready", ""), answers)
    answers.flush()
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        # A compiler that hangs must not outlive a parent that was killed; this watchdog needs no Python thread.
        faulthandler.dump_traceback_later(request["seconds"] + 5, exit=True)
        pickle.dump(compiler.answer(request), answers)
        answers.flush()
        faulthandler.cancel_dump_traceback_later()


def main(arguments: list[str]) -> int:
    """Run one of the two jobs."""
    import_slangpy()  # brings the driver into place; a plain import must not come before it
    mode, text = arguments
    options = json.loads(text)
    backend = Backend(**{**options, "luid": tuple(options["luid"])})
    if mode == "--probe":
        print(json.dumps(probe(backend)))
        return 0
    # Keep the answers apart from anything that libraries print.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(backend, sys.stdin.buffer, answers)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # a device that is torn down by the interpreter's exit can crash; there is nothing to save
