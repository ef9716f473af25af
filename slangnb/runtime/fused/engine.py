"""One call of a function as one launch: finds or prepares the launch, and fetches the values of this call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from slangnb.runtime.binding import Bound
from slangnb.runtime.fused.gather import gather
from slangnb.runtime.fused.imports import modules_for
from slangnb.runtime.fused.job import GROUP, Job
from slangnb.runtime.fused.launch import NOTHING, Prepared, Ran
from slangnb.runtime.fused.measured import CANDIDATES, best_of
from slangnb.runtime.fused.plans import kind_of
from slangnb.runtime.known_faults import check_doubles, check_wave_operations
from slangnb.runtime.structs import check_structs

if TYPE_CHECKING:
    from slangnb.compiler.loading import Loaded
    from slangnb.runtime.module import Module
    from slangnb.runtime.session import Session
    from slangnb.runtime.target import Target


@dataclass(frozen=True, slots=True)
class Wish:
    """What a launch shall give; the fields are those of `Job`, and `wrt` names the arguments of the gradients.

    With `per_thread` 0 the number of elements that a thread takes is looked up.
    """

    mode: str
    wrt: tuple[str, ...] | None = None
    value: bool = False
    stores: bool = False
    accumulate: bool = False
    per_thread: int = 0
    addressed: bool = False
    tensors: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function.

    Attributes
    ----------
    session : Session
    owner : Module
    loaded : Loaded
        What `owner` means now.
    bound : Bound
        The arguments.
    text : str
        How a kernel writes the function, such as ``"f"``.
    prelude : str
        Slang text before the kernel.
    tangents, seeds : mapping
        By name of the argument, and by id of the output.
    """

    session: Session
    owner: Module
    loaded: Loaded
    bound: Bound
    text: str
    prelude: str
    tangents: Mapping[str, Any]
    seeds: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        target: Target,
        bound: Bound,
        text: str = "",
        prelude: str = "",
        *,
        tangents: Mapping[str, Any] = NOTHING,
        seeds: Mapping[str, Any] = NOTHING,
    ) -> Call:
        """Describe a call of what a name means now; without a text, the kernel writes the name.

        Raises
        ------
        CallError, CompileError, BackendError
            If it means nothing any more.
        """
        text = text or bound.signature.name
        return cls(target.session, target.owner, target.require(), bound, text, prelude, tangents, seeds)

    def prepare(self, wish: Wish) -> Prepared:
        """Find or make the launch.

        Raises
        ------
        CallError, GradientError, CompileError
            For arguments or functions that cannot be right.
        NotFusedError
            For calls that only SlangPy can make.
        """
        kinds = tuple([(s.place, kind_of(s.value)) for s in self.bound.slots])
        extras = kind_of(dict(self.tangents)), kind_of(dict(self.seeds))
        key = (id(self.bound.signature), self.loaded.name, self.text, self.prelude, wish, kinds, extras)
        return self.session.plans.get(key, lambda: self._make(wish))

    def modules(self) -> list[str]:
        """Name the modules that a kernel imports to call the function."""
        texts = {u.module: u.source.text for u in self.session.units_of(self.owner)}
        return modules_for(self.bound.signature, texts, self.loaded.name)

    def tune(self, wish: Wish) -> None:
        """Measure how many elements a thread takes best, and remember it."""
        count = self.prepare(wish).count
        tried = {k: self.prepare(replace(wish, per_thread=k)) for k in CANDIDATES if k == 1 or count >= k * GROUP}
        for prepared in tried.values():
            self.run(prepared)  # compiles
        best = best_of({k: partial(self.run, prepared) for k, prepared in tried.items()})
        self.session.tuned.put(tried[best].kernel_id, count, best)
        self.session.plans.clear()

    def _make(self, wish: Wish) -> Prepared:
        given = {**self.bound.named, "tangents": dict(self.tangents), "seeds": dict(self.seeds)}
        check_structs(self.bound.signature.name, self.loaded.module.layout, given)
        wrt = wish.wrt if wish.mode == "reverse" else ()
        gathered = gather(self.bound, wrt, self.tangents, self.seeds, self.session.device, self.session.host_memory)
        texts, count = self.session.texts_of(self.owner), math.prod(gathered.shape)
        check_wave_operations(self.session.backend, self.bound.signature.name, texts, count)
        check_doubles(self.session.backend, self.bound.signature.name, texts)
        modules = [*(["slangpy"] if gathered.tensors else []), *self.modules()]
        job = Job(
            self.text,
            tuple(modules),
            gathered.arguments,
            gathered.outputs,
            wish.mode,
            wish.value,
            wish.stores,
            wish.accumulate,
            wish.per_thread,
            prelude=self.prelude,
            addressed=wish.addressed,
            tensors=wish.tensors,
        )
        types = self.loaded.module.layout.require_type_by_name
        return Prepared(self.session, self.owner, self.bound.signature, job, gathered, types)

    def run(self, prepared: Prepared, factor: float = 1.0, read: bool = True) -> Ran:
        """Launch; see `Prepared.run`."""
        values = {s.place: s.value for s in self.bound.slots}
        sources = {"value": values, "tangent": self.tangents, "seed": self.seeds}
        return prepared.run(sources, factor, read)
