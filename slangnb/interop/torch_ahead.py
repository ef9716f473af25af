"""Calls whose gradients torch asked for before: the forward launch gives them along, and backward scales them.

What Python does in torch's backward threads takes some three times as long as in the caller's thread, so that a second
launch there costs more than a small kernel; and a large one would read the arguments again. The gradients are those of
the sum of all results. A backward pass whose seed is one number for all elements, as it is after ``sum()`` and
``mean()``, multiplies them with it; another seed, and another pass through the same graph, goes the usual way. What a
person writes to a tensor by ``x.data`` between the two passes, which torch does not notice, the usual way reads, and
this one does not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.compiler.reading.calls import reached
from slangnb.interop.torch_backward import Backward, Way, sums_way
from slangnb.interop.torch_memory import DTYPES, SCALARS_OF, addresses, raw_stream
from slangnb.runtime.fused.scaling import Scale
from slangnb.runtime.nesting import Path

if TYPE_CHECKING:
    from slangnb.interop.torch_shared import DeviceCall

#: Elements of the largest call, beside those whose results are summed: what it saves is no more than what it takes to
#: scale the gradients, which take memory until then.
MOST = 1 << 20
#: Forward launches in a row that may give gradients along and no backward pass takes them: small ones, and large ones.
MOST_UNASKED, MOST_UNASKED_LARGE = 8, 1
_HALF = re.compile(r"\b(half(\d(x\d)?)?|float16_t\w*)\b")


@dataclass
class Ahead:
    """A launch for the results and the gradients of a call.

    Attributes
    ----------
    call : DeviceCall
    backward : Backward
    value : callable or None
        The way to the sum of the results, if that is the call's result.
    scale : Scale or None
        What multiplies large gradients on a card.
    wanted : tuple of bool
        Which tensors' gradients it gives.
    unasked : int
        Launches since the last backward pass.
    """

    call: DeviceCall
    backward: Backward
    value: Way | None
    scale: Scale | None
    wanted: tuple[bool, ...]
    unasked: int = 0

    @classmethod
    def prepare(cls, call: DeviceCall, named: Mapping[str, Any], paths: Sequence[Path | None]) -> Ahead | None:
        """Prepare the launch, once the usual one was looked at; None for calls that it is not for."""
        reduce, large = bool(call.reduce), call.launch.prepared.count > MOST
        if len(call.results) != 1 or (large and not reduce) or _is_half(call):
            return None
        backward = Backward.prepare(call.function, call.device, named, paths, {}, reduce, not reduce)
        if any(path is not None and way is None for path, way in zip(paths, backward.chosen, strict=True)):
            return None
        prepared = backward.launch.prepared
        prepared.looked = True
        row = next((r for r in prepared.sums.rows.all if r.kind == "value"), None)
        value = None if row is None else sums_way(backward.launch, row, (), DTYPES[row.scalar])
        scale = None
        if large and call.device.type != "cpu":
            given = {backward.path_of(out): out.given for out in prepared.gradients}
            asked = [given[path] for path in paths if path is not None]
            arrays = [(g.leaf.type.scalar, math.prod(g.shape)) for g in asked]
            if any(count > Scale.MOST for _, count in arrays):
                return None
            scale = Scale(call.function.session, arrays, SCALARS_OF[call.results[0][2]])
        return cls(call, backward, value, scale, tuple([path is not None for path in paths]))

    def due(self) -> bool:
        """Tell whether a forward pass shall give gradients along: not in a loop that never asks for them."""
        return self.unasked < (MOST_UNASKED if self.call.launch.prepared.count <= MOST else MOST_UNASKED_LARGE)

    def run(self, arguments: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, Given]:
        """Launch; give the result, and the gradients."""
        call = self.call
        self.unasked += 1
        if self.value is not None:
            found = self.backward.run(arguments, (), call.factor, tensors)
            # Not the tensor that is kept with the gradients: torch lets its result hold its graph, and so these.
            return self.value(*found).data, Given(self, [found])
        _, shape, dtype, _ = call.results[0]
        result = torch.empty(shape, dtype=dtype, device=call.device)
        found = self.backward.run(arguments, (), call.factor, (tensors, result), addresses((result,)))
        return result, Given(self, [found])


def _is_half(call: DeviceCall) -> bool:
    """Tell whether a derivative may be of half precision: it needs its seed within the kernel, so as not to vanish."""
    target, job = call.function.target, call.launch.prepared.job
    types = [o.type for o in job.outputs] + [leaf.type for leaf in job.leaves]
    texts = (one.text for one in reached(call.function.info.name, target.session.texts_of(target.owner)))
    return any(t.scalar == "half" for t in types) or any(map(_HALF.search, texts))


@dataclass
class Given:
    """The gradients of the sum of all results, as `Backward.run` gives them; they are taken once."""

    ahead: Ahead
    found: list[tuple[list[Any], list[Any]]]

    def gradients(self, wanted: tuple[bool, ...], seed: Any) -> list[Any] | None:
        """Give the gradients of the wanted tensors, None for the others; None at all if the usual way must give them.

        Nothing refers to them any more then: torch makes them those of leaves without a copy.
        """
        ahead = self.ahead
        if seed is None or any(seed.stride()) or seed.is_neg() or ahead.wanted != wanted:
            return None
        try:
            made, totals = self.found.pop()  # another thread may come along
        except IndexError:
            return None
        gradients = [None if way is None else way(made, totals) for way in ahead.backward.chosen]
        self._scale([g for g in gradients if g is not None], seed.as_strided((), ()) if seed.dim() else seed)
        return gradients

    def _scale(self, gradients: list[Any], by: Any) -> None:
        """Multiply tensors in place by a tensor of one number."""
        scale, call = self.ahead.scale, self.ahead.call
        if scale is not None:
            scale.run(addresses(gradients), by.data_ptr(), raw_stream(call.device.index), (gradients, by))
        elif by.is_cuda or by.item() != 1:
            torch._foreach_mul_(gradients, by)  # one launch for all; torch's optimisers stand on this function
