"""Small calls whose gradients torch asked for before: the forward launch gives them along, and backward scales them.

What Python does in torch's backward threads takes some three times as long as in the caller's thread, so that a second
launch there costs more than a small kernel. The gradients are those of the sum of all results. A backward pass whose
seed is one number for all elements, as it is after ``sum()`` and ``mean()``, multiplies them with it; another seed
goes the usual way. What a person writes to a tensor by ``x.data`` between the two passes, which
torch does not notice, the usual way reads, and this one does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.compiler.reading.calls import reached
from slangnb.interop.torch_backward import Backward, Way, sums_way
from slangnb.interop.torch_memory import DTYPES, addresses
from slangnb.runtime.nesting import Path

if TYPE_CHECKING:
    from slangnb.interop.torch_shared import DeviceCall

#: Elements of the largest call: beyond, the kernel takes longer than what is saved, and gradients take memory.
MOST = 1 << 20
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
    """

    call: DeviceCall
    backward: Backward
    value: Way | None

    @classmethod
    def prepare(cls, call: DeviceCall, named: Mapping[str, Any], paths: Sequence[Path | None]) -> Ahead | None:
        """Prepare the launch, once the usual one was looked at; None for calls that it is not for."""
        reduce = bool(call.reduce)
        if len(call.results) != 1 or call.launch.prepared.count > MOST or _is_half(call):
            return None
        backward = Backward.prepare(call.function, call.device, named, paths, {}, reduce, not reduce)
        prepared = backward.launch.prepared
        prepared.looked = True
        row = next((r for r in prepared.sums.rows.all if r.kind == "value"), None)
        value = None if row is None else sums_way(backward.launch, row, (), DTYPES[row.scalar])
        return cls(call, backward, value)

    def run(self, arguments: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, Given]:
        """Launch; give the result, and the gradients."""
        call = self.call
        if self.value is not None:
            found = self.backward.run(arguments, (), call.factor, tensors)
            # Not the tensor that is kept with the gradients: torch lets its result hold its graph, and so these.
            return self.value(*found).data, Given(self.backward.chosen, *found)
        _, shape, dtype, _ = call.results[0]
        result = torch.empty(shape, dtype=dtype, device=call.device)
        found = self.backward.run(arguments, (), call.factor, (tensors, result), addresses((result,)))
        return result, Given(self.backward.chosen, *found)


def _is_half(call: DeviceCall) -> bool:
    """Tell whether a derivative may be of half precision: it needs its seed within the kernel, so as not to vanish."""
    target, job = call.function.target, call.launch.prepared.job
    types = [o.type for o in job.outputs] + [leaf.type for leaf in job.leaves]
    texts = (one.text for one in reached(call.function.info.name, target.session.texts_of(target.owner)))
    return any(t.scalar == "half" for t in types) or any(map(_HALF.search, texts))


@dataclass
class Given:
    """What a launch gave: the gradients of the sum of all results, as `Backward.run` gives them."""

    ways: Sequence[Way | None]
    made: list[Any]
    totals: list[Any]

    def gradients(self, wanted: Sequence[bool], seed: Any) -> list[Any] | None:
        """Give the gradients of the wanted tensors, None for the others; None at all for a seed of several numbers."""
        if seed is None or any(seed.stride()) or seed.is_neg():
            return None
        places = [k for k, w in enumerate(wanted) if w]
        given = [way(self.made, self.totals) for k in places if (way := self.ways[k]) is not None]
        if not given or len(given) < len(places):
            return None
        # One launch multiplies all, and each product has memory of its own. Torch's optimisers stand on this function.
        products = torch._foreach_mul(given, seed.as_strided((), ()) if seed.dim() else seed)
        found: list[Any] = [None] * len(wanted)
        for k, product in zip(places, products, strict=True):
            found[k] = product
        return found
