"""A session: one backend, its device, the modules compiled on it, and the guard."""

from __future__ import annotations

import atexit
import os
from collections.abc import Hashable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangnb.compiler.graph import Unit
from slangnb.compiler.resolving import check_name, make_source
from slangnb.devices.backend import Backend, choose, slangpy_version
from slangnb.devices.caches import known_good, tuning_file
from slangnb.devices.cuda import set_current
from slangnb.devices.guard import Guard
from slangnb.devices.host_memory import takes_host_addresses
from slangnb.devices.opening import open_device
from slangnb.errors import BackendError, CompileWarning, SlangNbError
from slangnb.runtime import forking
from slangnb.runtime.building import Builder, for_slangpy
from slangnb.runtime.entry import Entry
from slangnb.runtime.fused.measured import Tuned
from slangnb.runtime.fused.plans import Plans
from slangnb.runtime.fused.pool import Pool
from slangnb.runtime.guarding import Gate
from slangnb.runtime.library import Library
from slangnb.runtime.module import Module
from slangnb.runtime.saying import warn as say
from slangnb.runtime.stale import Writes

if TYPE_CHECKING:
    import slangpy

    from slangnb.compiler.loading import Loaded
    from slangnb.runtime.fused.audit import Audit

GUARD_SECONDS = 60.0
#: What is for people; the rest is for the package.
PROMISED = ("backend", "close", "compile", "device", "load", "modules", "use")


def guard_wanted(asked: bool | None) -> bool:
    """Tell whether to compile in a child process first; None: as the environment says."""
    return os.environ.get("SLANGNB_GUARD", "on").lower() != "off" if asked is None else asked


class Session:
    """Compiles Slang and runs it on one backend.

    Parameters
    ----------
    backend : str, optional
        ``"cuda"``, ``"vulkan"``, ``"metal"``, ``"d3d12"`` or ``"software"``; by default the first that passes its
        probe.
    guard : bool, optional
        Compile new modules and kernels in a child process first, so that a crash or hang of the compiler is an error.
        On unless ``SLANGNB_GUARD=off`` is set.
    guard_seconds : float
        Time limit of one such compile.

    Raises
    ------
    BackendError
        If no backend works, or not the wanted one.

    Examples
    --------
    >>> s = Session()
    >>> m = s.compile("float twice(float x) { return 2 * x; }")
    >>> m.twice(4.0)
    8.0
    """

    def __init__(
        self, backend: str | None = None, guard: bool | None = None, guard_seconds: float = GUARD_SECONDS
    ) -> None:
        self._library = Library(partial(Module, self))
        self.said: set[Hashable] = set()  # warnings that are given once
        self.audits: dict[Hashable, Audit] = {}  # what comparing forward and reverse mode found
        self.forward_checked: set[Hashable] = set()  # what forward mode does not get wrong
        self.writes = Writes()
        self._closed: BackendError | None = None
        self._ended = False
        self._devices: dict[Backend, slangpy.Device] = {}
        self._open(choose(backend), guard_seconds, guard_wanted(guard))
        atexit.register(self.close)
        forking.watch(self)

    def _open(self, backend: Backend, guard_seconds: float, guard_enabled: bool) -> None:
        """Make all that belongs to a backend, and build the modules on it; go on with it only if all that succeeds."""
        if backend not in self._devices:
            self._devices[backend] = open_device(backend)
        device = self._devices[backend]
        gate = Gate(Guard(backend, guard_seconds), known_good(slangpy_version(), backend.key), guard_enabled)
        with ExitStack() as undo:
            undo.callback(gate.guard.close)
            if guard_enabled:
                gate.guard.start()
            entry, host_memory = Entry(device, backend.software), takes_host_addresses(device, backend)
            pool, tuned = Pool(device), Tuned(tuning_file(backend.key))
            builder = Builder(device, self._library.graph, gate)
            failed = self._library.build_on(builder)
            undo.pop_all()
        self._backend, self._entry, self.gate = backend, entry, gate
        self.host_memory = host_memory  # whether kernels take addresses of this process's own memory
        self.pool, self.plans, self.tuned = pool, Plans(), tuned
        self._library.take(builder, failed)

    @property
    def backend(self) -> Backend:
        """The backend in use: ``.name``, ``.adapter``, ``.software``."""
        return self._backend

    @property
    def device(self) -> slangpy.Device:
        """The SlangPy device; raises BackendError once the session is closed."""
        if self._closed is not None:
            raise self._closed.again()
        return self._devices[self._backend]

    @property
    def closed(self) -> bool:
        """Whether `close` has ended it; not so for one that is lost, see `lose`."""
        return self._ended

    @property
    def guard(self) -> Guard:
        """The child that compiles first."""
        return self.gate.guard

    @property
    def guard_enabled(self) -> bool:
        """Whether it does."""
        return self.gate.enabled

    @guard_enabled.setter
    def guard_enabled(self, enabled: bool) -> None:
        self.gate.enabled = enabled

    @property
    def modules(self) -> Mapping[str, Module]:
        """Named cells and loaded files, by name or path."""
        return self._library.modules

    def use(self, backend: str) -> None:
        """Go on with another backend; all modules are rebuilt, and their functions mean the new ones.

        A module that does not compile there says so when it is called.

        Raises
        ------
        BackendError
            If it does not work here; the session then stays as it was. And if the session is closed.
        """
        if self._closed is not None:
            raise self._closed.again()
        chosen = choose(backend)
        if chosen == self._backend:
            return
        before = self.guard
        self._open(chosen, before.seconds, self.guard_enabled)
        before.close()

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, Any] | None = None,
        include: tuple[str | Path, ...] = (),
        *,
        label: str = "",
        first_line: int = 1,
        force: bool = False,
        warn: bool = True,
    ) -> Module:
        """Compile Slang source text.

        Parameters
        ----------
        source : str
            The text.
        name : str, optional
            Name under which other sources import it. Compiling another text under the same name replaces it, and
            rebuilds what imports it.
        defines : mapping, optional
            Preprocessor macros.
        include : tuple of paths
            Folders to look for imported and included files in, before the current one and ``shaders``.
        label : str, optional
            What diagnostics call this source; by default its name or ``"source"``.
        first_line : int
            Number of the text's first line in diagnostics.
        force : bool
            Compile again though nothing has changed.
        warn : bool
            Say what is odd about the source as a `CompileWarning`, at each compile; else `take_warnings` gives it.

        Returns
        -------
        Module

        Raises
        ------
        CompileError
            With diagnostics in the coordinates of `source`. What was compiled before stays as it was.
        """
        set_current(self.device)
        macros = tuple((k, str(v)) for k, v in (defines or {}).items())
        if name is not None:
            check_name(name)
        shown = for_slangpy(make_source(source, label or name or "source", first_line, macros))
        made = self._library.compile(shown, name, tuple(map(Path, include)), force)
        if warn:
            self._warn()
        return made

    def load(self, path: str | Path, *, force: bool = False, warn: bool = True) -> Module:
        """Compile a ``.slang`` file; loading it again after a change rebuilds what imports it.

        `force` and `warn` are as for `compile`.

        Raises
        ------
        CallError
            If the file cannot be read.
        CompileError
            As `compile`.
        """
        set_current(self.device)
        made = self._library.load(Path(path).resolve(), force)
        if warn:
            self._warn()
        return made

    def _warn(self) -> None:
        for warning in self.take_warnings():
            say(warning.render(), CompileWarning)

    def take_broken(self) -> list[tuple[str, SlangNbError]]:
        """Give the modules that do not compile any more since this was last asked, with the reason."""
        return self._library.take_broken()

    def take_warnings(self) -> list[Any]:
        """Give the warnings of what was compiled since this was last asked, each once."""
        return self._library.builder.take_warnings()

    def kernel(self, text: str, entry: str, owner: Module | None) -> slangpy.ComputeKernel:
        """Compile a kernel that slangnb wrote itself, through the guard; each text once.

        Parameters
        ----------
        text : str
            Slang source with one compute entry point.
        entry : str
            Name of the entry point.
        owner : Module or None
            The module whose functions it calls.

        Raises
        ------
        CompileError
            If the compiler reports an error, crashes, or gives no answer.
        """
        with self._library.turn:
            return self._library.builder.kernel(text, entry, self.units_of(owner) if owner else [])

    def wait(self, submitted: int | None = None, held: Any = None) -> None:
        """Wait for the device, or for one submission; see `Entry.wait`."""
        if self._closed is not None:
            raise self._closed.again()
        self._entry.wait(submitted, held)

    @property
    def entry(self) -> Entry:
        """The way of calls to the device."""
        return self._entry

    def busy(self) -> bool:
        """Tell whether the device still runs a kernel whose wait was stopped."""
        return self._closed is None and self._entry.busy()

    @property
    def entered(self) -> bool:
        """Whether calls from this thread need no `enter`."""
        return self._entry.open

    def enter(self) -> None:
        """Make ready for calls from this thread, or raise BackendError; see `Entry.look`."""
        if self._closed is not None:
            raise self._closed.again()
        self._entry.look()

    @property
    def units(self) -> list[Unit]:
        """What is compiled: cells and files, and what they import."""
        return list(self._library.graph)

    def units_of(self, module: Module) -> list[Unit]:
        """Give the units of a module, last, and of all that it imports."""
        return self._library.graph.chain(module._key)

    def texts_of(self, module: Module) -> list[str]:
        """Give the source texts of these."""
        return [u.source.text for u in self.units_of(module)]

    def loaded_of(self, module: Module) -> list[Loaded]:
        """Give what these are compiled to."""
        return [self._library.builder.result(u)[0] for u in self.units_of(module)]

    def __dir__(self) -> list[str]:
        return [*PROMISED]

    def __repr__(self) -> str:
        closed = "" if self._closed is None else ", closed"
        return f"<slang session on {self._backend.key} ({self._backend.adapter}{closed})>"

    def __reduce__(self) -> Any:
        raise TypeError("a session and its functions cannot be pickled: compile them in each process")

    def lose(self, reason: BackendError) -> None:
        """Refuse all calls from now on, with this reason."""
        self._closed = reason
        self._entry.shut()  # calls look at this first

    def close(self) -> None:
        """End the guard's child and close the devices. Tensors of this session must not be used any more."""
        if self._closed is not None:
            return
        atexit.unregister(self.close)
        self.guard.close()
        # Closing waits, and a kernel that never ends would take this process along.
        if not (self._devices and self.busy()):
            self.plans.clear()
            self.pool.clear()
            self._entry.close()
            for device in self._devices.values():
                device.close()
        self._devices.clear()
        self._ended = True
        reason = BackendError("this session is closed", remedy="sn.session() makes a new one; run the cells again")
        self.lose(reason)
        self._library.break_all(reason)
