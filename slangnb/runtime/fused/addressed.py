"""Launches of a job on another library's memory, by address. All values come by position, since it is done often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slangnb.runtime.fused.stage import run_stages

if TYPE_CHECKING:
    from slangnb.runtime.fused.launch import Prepared


class AddressedLaunch:
    """A prepared job whose results, gradients and sums go to addresses.

    Attributes
    ----------
    prepared : Prepared
    routes : list of tuple
        For each entry of the `values` of a run, where it stands in a call: a position or name, then keys of dicts.
    gradients : list
        For each entry of `gradients`, what brings it there; those that are sums are not among them.
    totals : list of (str, int)
        For each entry of `sums`, the type of its numbers, and how many there are.
    stream : int or None
        CUDA's handle of the stream of the last run.
    """

    def __init__(self, prepared: Prepared) -> None:
        job, rows = prepared.job, prepared.sums.rows
        self.prepared = prepared
        self._inputs = [port for port in prepared.inputs if port.role == "value"]
        self._seeds = [port for port in prepared.inputs if port.role == "seed"]
        self.routes = [port.route for port in self._inputs]
        self._result_names = [f"sn_out_o_{o.mark}" for o in job.outputs] if job.stores else []
        self.gradients = [out for out in prepared.gradients if not out.by_sum]
        self.totals = [(scalar, len(rows.of(scalar))) for scalar in rows.scalars]
        self.stream: int | None = None

    def run(
        self,
        values: Sequence[Any],
        seeds: Sequence[int] = (),
        results: Sequence[int] = (),
        gradients: Sequence[int] = (),
        sums: Sequence[int] = (),
        factor: float = 1.0,
        stream: int = 0,
        held: Any = None,
    ) -> None:
        """Launch; nothing waits for it, but where it works on this process's own memory.

        Parameters
        ----------
        values, seeds : sequence
            Numbers, and addresses, in the order of `routes` and of the outputs that have seeds.
        results, gradients, sums : sequence of int
            Addresses.
        factor : float
            Of all gradients and sums.
        stream : int
            CUDA's handle of the stream that it goes to.
        held : object, optional
            What owns the memory; it is kept if the wait is interrupted.
        """
        prepared = self.prepared
        main, session = prepared.main, prepared.session
        entry = session.entry
        with entry.lock:
            if not entry.open:
                session.enter()
            for port, value in zip(self._inputs, values, strict=True):
                port.bind(value)
            for port, address in zip(self._seeds, seeds, strict=True):
                port.bind(address)
            for name, address in zip(self._result_names, results, strict=True):
                main.set(name, address)
            if prepared.job.scaled:
                main.set("sn_factor", factor)
            stages = [main, *prepared.sums.stages]
            if sums:
                prepared.sums.bind(sums, factor)
            for out, address in zip(self.gradients, gradients, strict=True):
                stages += out.bind(address)
            run_stages(session, stages, session.host_memory, held, stream=stream)
            if session.host_memory:
                prepared.sums.finish()
