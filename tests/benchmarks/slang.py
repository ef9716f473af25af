"""slangnb and plain SlangPy as candidates, and the device's own copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from timing import Candidate
from work import Work

import slangnb as sn

SHADERS = Path(__file__).parents[2] / "shaders"


class Slang:
    """The candidates of one workload that run through Slang on the session's device.

    Parameters
    ----------
    work : Work
        What is computed. The data is copied to the device here, once.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.session = sn.session()
        self.wait = self.session.device.wait
        self.function = self.session.compile(work.source, include=(SHADERS,))[work.function]
        self.x = sn.tensor(work.x, dtype=work.element)
        #: Scalars stay numbers, weights become tensors: that is how a person passes them.
        self.shared = {k: sn.tensor(v) if isinstance(v, np.ndarray) else v for k, v in work.shared.items()}

    def copy(self) -> Candidate:
        """Copy `x` on the device: nothing that reads and writes as much can be faster."""
        import slangpy as spy

        device, source = self.session.device, self.x.storage
        to = spy.Tensor.empty(device, shape=self.x.shape, dtype=self.x.dtype)

        def run() -> dict[str, Any]:
            encoder = device.create_command_encoder()
            encoder.copy_buffer(to.storage, 0, source, 0, source.size)
            device.submit_command_buffer(encoder.finish())
            device.wait()
            return {"value": to}

        return Candidate("copy of x on the device", run)

    def candidates(self, host: bool = False) -> list[Candidate]:
        """Give slangnb and plain SlangPy, in the workload's mode; with `host`, also the bare cost of the calls."""
        if self.work.mode == "forward":
            raw = self.function.slangpy
            return [
                Candidate("slangnb", lambda: self._forward(self.function), ours=True),
                Candidate("SlangPy", lambda: self._forward(raw)),
            ]
        if self.work.mode == "backward":
            return self._backward()
        seeded = self._seeded()
        found = [
            Candidate("slangnb value_and_grad", self._fused(), note="value read", ours=True),
            Candidate("SlangPy forward + backward", self._two_passes(seeded, "wait"), note="no sum, nothing read"),
            Candidate(
                "SlangPy, read back", self._two_passes(seeded, "read"), note="values and gradients read, summed on CPU"
            ),
        ]
        if host:
            found.append(
                Candidate(
                    "SlangPy, not waited for", self._two_passes(seeded, ""), self.wait, note="host cost; no result yet"
                )
            )
        return found

    def _forward(self, function: Any) -> dict[str, Any]:
        made = function(**self.shared, x=self.x, _result="tensor")
        self.wait()
        return {"value": made}

    def _seeded(self) -> Any:
        """Give a result tensor whose gradient is 1, the seed of the gradient of a sum."""
        made = self.function(**self.shared, x=self.x, _result="tensor").with_grads()
        made.grad.copy_from_numpy(np.ones_like(made.to_numpy()))
        return made

    def _backward(self) -> list[Candidate]:
        seeded = self._seeded()
        own, plain, raw = self.x.with_grads(), self.function.bwds, self.function.slangpy.bwds

        def ours() -> dict[str, Any]:
            plain(**self.shared, x=own, _result=seeded)
            self.wait()
            return {"x": own.grad}

        def theirs() -> dict[str, Any]:
            x = self.x.with_grads()
            raw(**self.shared, x=x, _result=seeded)
            self.wait()
            return {"x": x.grad}

        note = "backward only"
        return [
            Candidate("slangnb bwds", ours, note=note + ", gradient cleared by the call", ours=True),
            Candidate("SlangPy bwds", theirs, note=note + ", new gradient"),
        ]

    def _fused(self) -> Any:
        gradients = sn.value_and_grad(self.function, wrt=self.work.wanted)

        def run() -> dict[str, Any]:
            value, found = gradients(**self.shared, x=self.x)
            self.wait()
            return {"value": value, **found}

        return run

    def _two_passes(self, seeded: Any, end: str) -> Any:
        """SlangPy's way: a forward call, a backward call, one-element tensors for the shared numbers.

        The result tensor and its seed are made once, which spares SlangPy that work; gradients are new at each call.
        """
        wanted, raw = self.work.wanted, self.function.slangpy
        fixed = {k: v for k, v in self.shared.items() if k not in wanted}
        tensors = {k: sn.tensor([v]) if isinstance(v, float) else v for k, v in self.shared.items() if k in wanted}

        def run() -> dict[str, Any]:
            shared = {k: v.with_grads() for k, v in tensors.items()}
            x = self.x.with_grads() if "x" in wanted else self.x
            raw(**fixed, **tensors, x=self.x, _result=seeded)
            raw.bwds(**fixed, **shared, x=x, _result=seeded)
            if end == "wait":
                self.wait()
            grads = {k: (x if k == "x" else shared[k]).grad for k in wanted}
            if end != "read":
                return {"value": seeded, **grads}
            value = seeded.to_numpy().sum(dtype=np.float64)
            return {"value": value, **{k: g if k == "x" else g.to_numpy() for k, g in grads.items()}}

        return run
