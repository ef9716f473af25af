"""A compiled cell or file: its functions and structs by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slangnb.compiler.loading import Loaded
from slangnb.compiler.reflection import FunctionInfo, ModuleInfo
from slangnb.compiler.special import specialised
from slangnb.errors import SlangNbError
from slangnb.runtime.function import Function
from slangnb.runtime.special import SpecialFunction
from slangnb.runtime.target import Target

if TYPE_CHECKING:
    from slangnb.runtime.session import Session


class Module:
    """What ``Session.compile`` returns: ``m.f`` or ``m["f"]`` is a function, ``m.S`` a struct, iteration gives names.

    All its own attributes begin with an underscore, so that Slang functions may have any name. When the source is
    compiled again, or a module that it imports, the same object and its functions mean the new code.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("float twice(float x) { return 2 * x; }", name="helpers")
    >>> list(m), m["twice"](4.0)
    (['twice'], 8.0)
    """

    def __init__(self, session: Session, label: str, key: str) -> None:
        self._session = session
        self._label = label
        self._key = key
        self._functions: dict[str, Function] = {}
        self._targets: dict[str, Target] = {}
        self._loaded: Loaded | None = None
        self._specials: dict[str, SpecialFunction] = {}
        self._info = ModuleInfo({}, ())

    def _adopt(self, loaded: Loaded, info: ModuleInfo, label: str) -> None:
        """Mean the newly built module; functions that people hold are updated in place."""
        self._loaded, self._info, self._label = loaded, info, label
        self._specials = {}  # they mean the module of their time
        for name, target in self._targets.items():
            if name not in info.functions:
                target.vanish(None)
        for name, function in info.functions.items():
            if name in self._targets:
                self._targets[name].point_to(function, loaded)
            else:
                self._targets[name] = Target(self._session, function, loaded, label, self)
                self._functions[name] = Function(self._targets[name])
            self._targets[name].module = label

    def _break(self, reason: SlangNbError) -> None:
        """Mean nothing: the module does not compile any more since an import or the backend changed."""
        self._loaded = None
        for target in self._targets.values():
            target.vanish(reason)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._find(name, AttributeError)

    def __getitem__(self, name: str) -> Any:
        return self._find(name, KeyError)

    def _find(self, name: str, kind: type[Exception]) -> Any:
        if name in self._info.functions:
            return self._functions[name]
        if self._loaded is not None and ("<" in name or "::" in name):
            return self._special(name, kind)
        if self._loaded is not None:
            struct = self._loaded.module.find_struct(name)
            if struct is not None:
                return struct
        close = difflib.get_close_matches(name, self, 1, 0.5)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise kind(f"{self._label} has no function or struct {name!r}{hint}")

    def _special(self, name: str, kind: type[Exception]) -> SpecialFunction:
        """Give ``m["square<float>"]``, a generic function with its types, or ``m["Light::intensity"]``, a method."""
        special = specialised(self._loaded, name) if self._loaded is not None else None
        if special is None:
            raise kind(f"{self._label} has no function {name!r}")
        if name not in self._specials:
            info = FunctionInfo(name, (special.signature,), 1)
            self._specials[name] = SpecialFunction(
                Target(self._session, info, self._loaded, self._label, self), special
            )
        return self._specials[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._info.functions
        yield from self._info.structs

    def __contains__(self, name: object) -> bool:
        return name in self._info.functions or name in self._info.structs

    def __dir__(self) -> list[str]:
        return [*self]

    def __repr__(self) -> str:
        return f"<slang module {self._label}: {', '.join(self) or 'empty'}>"
