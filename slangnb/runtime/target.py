"""What the name of a function means now, and how its calls were changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from slangnb.compiler.loading import Loaded
from slangnb.compiler.reflection import FunctionInfo
from slangnb.errors import CallError, SlangNbError

if TYPE_CHECKING:
    from slangnb.runtime.module import Module
    from slangnb.runtime.session import Session

#: A change to how a function is called: the method of SlangPy's function, its arguments, its named arguments.
Step = tuple[str, tuple[Any, ...], dict[str, Any]]


class Maker(NamedTuple):
    """What made a result: a function through all its versions, and the name by content of this one's module."""

    lineage: object
    module: str

    def compiled_again(self, now: Maker) -> bool:
        """Tell whether this is an earlier version of a function."""
        return self.lineage is now.lineage and self.module != now.module


@dataclass
class Target:
    """What a name means now. Rebuilding a module changes this in place, and raises `version`.

    Attributes
    ----------
    session : Session
        Whose device it runs on.
    info : FunctionInfo
        What the source says about it.
    loaded : Loaded or None
        Its module; None once the name is gone.
    module : str
        What the module is called for people.
    owner : Module
        Keeps the module alive while any of its functions is held.
    broken : SlangNbError or None
        Why the module could not be rebuilt after an import or the backend changed.
    version : int
        Counts the rebuilds.
    lineage : object
        The same for all that a name meant in turn; a notebook's cell that is run again is a new module.
    """

    session: Session
    info: FunctionInfo
    loaded: Loaded | None
    module: str
    owner: Module
    broken: SlangNbError | None = None
    version: int = 0
    lineage: object = field(default_factory=object, repr=False)

    @property
    def maker(self) -> Maker:
        """What makes results now."""
        return Maker(self.lineage, self.loaded.name if self.loaded is not None else "")

    def follow(self, before: Target) -> None:
        """Take the place of what a name meant before, unless this is no new function."""
        if self.version == 0:
            self.lineage = before.lineage

    def point_to(self, info: FunctionInfo, loaded: Loaded) -> None:
        """Mean the function of a newly built module from now on."""
        self.info, self.loaded, self.broken = info, loaded, None
        self.version += 1

    def require(self) -> Loaded:
        """Give the module.

        Raises
        ------
        CallError, CompileError, BackendError
            If the name is gone, or the module could not be rebuilt, or the session is closed.
        """
        if self.broken is not None:
            raise self.broken.again()
        if self.loaded is None:
            name, now = self.info.name, ", ".join(self.owner)
            raise CallError(
                f"{name} is no longer defined in {self.module}",
                function=name,
                remedy=f"it has {now} now" if now else "run the cell that defines it again",
            )
        return self.loaded

    def vanish(self, reason: SlangNbError | None) -> None:
        """Mean nothing from now on; a call says why."""
        self.broken = reason
        self.loaded = None
        self.version += 1
