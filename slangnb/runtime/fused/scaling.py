"""Multiplies arrays by a number that only the device knows, in place: nothing is read or written if it is 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from slangnb.runtime.fused.job import GROUP
from slangnb.runtime.fused.stage import Stage, run_stages

if TYPE_CHECKING:
    from slangnb.runtime.session import Session

SCALE_ENTRY = "slangnb_scale"
#: Threads that keep a large card busy, each with every so many numbers.
THREADS = 1 << 18


@cache
def scale_text(scalars: tuple[str, ...], factor: str) -> str:
    """Write the kernel for arrays of some scalar types, which are given by their addresses."""
    arrays = "".join(f", uniform {scalar}* values_{k}, uniform uint count_{k}" for k, scalar in enumerate(scalars))
    loops = "\n".join(
        f"    for (uint i = thread.x; i < count_{k}; i += threads) values_{k}[i] *= {scalar}(factor);"
        for k, scalar in enumerate(scalars)
    )
    return f"""
[shader("compute")]
[numthreads({GROUP}, 1, 1)]
void {SCALE_ENTRY}(uint3 thread : SV_DispatchThreadID, uniform uint threads, uniform {factor}* given{arrays})
{{
    {factor} factor = *given;
    if (factor == {factor}(1)) return;
{loops}
}}
"""


class Scale:
    """The kernel for arrays of some types and sizes.

    Parameters
    ----------
    session : Session
    arrays : sequence of (str, int)
        Types of the arrays, and how many numbers each has.
    factor : str
        Type of the number.
    """

    #: Numbers that an array may have: the kernel counts in 32 bits, and goes on by its threads.
    MOST = (1 << 32) - THREADS - 1

    def __init__(self, session: Session, arrays: Sequence[tuple[str, int]], factor: str) -> None:
        self._session = session
        kernel = session.kernel(scale_text(tuple(scalar for scalar, _ in arrays), factor), SCALE_ENTRY, None)
        self._stage = stage = Stage(session.device, kernel)
        stage.threads = -(-min(THREADS, max(count for _, count in arrays)) // GROUP) * GROUP
        stage.set("threads", stage.threads)
        for k, (_, count) in enumerate(arrays):
            stage.set(f"count_{k}", count)
        self._values = [f"values_{k}" for k in range(len(arrays))]

    def run(self, arrays: Sequence[int], factor: int, stream: int = 0, held: Any = None) -> None:
        """Launch; nothing waits for it, but where it works on this process's own memory.

        Parameters
        ----------
        arrays : sequence of int
            Addresses.
        factor : int
            The address of what they are multiplied by.
        stream : int
            CUDA's handle of the stream that it goes to.
        held : object, optional
            What owns the memory.
        """
        session, stage = self._session, self._stage
        with session.entry.lock:
            if not session.entry.open:
                session.enter()
            stage.set("given", factor)
            for name, address in zip(self._values, arrays, strict=True):
                stage.set(name, address)
            run_stages(session, [stage], session.host_memory, held, stream=stream)
