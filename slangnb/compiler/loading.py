"""Loads Slang text into a device's default session and finds functions in it; the only place that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import slangpy
    from slangpy.core.function import FunctionNode


@dataclass(frozen=True, slots=True)
class Loaded:
    """A module in a device's session: its hashed name, Slang's own module, SlangPy's view of it.

    `overloaded` holds SlangPy's reflection of overloaded functions. It is taken before anything else looks at one
    overload: SlangPy 0.43 gives that one for the name from then on.
    """

    name: str
    raw: slangpy.SlangModule
    module: slangpy.Module
    overloaded: dict[str, Any] = field(default_factory=dict)


@cache
def slangpy_errors() -> tuple[type[Exception], ...]:
    """Give all that SlangPy raises for a fault of a source or of a call; its own classes have no common base."""
    import slangpy as spy
    from slangpy.bindings import BoundVariableException
    from slangpy.core.callsignature import KernelGenException, ResolveException

    own = (spy.SlangCompileError, ResolveException, BoundVariableException, KernelGenException)
    return (*own, RuntimeError, ValueError, TypeError, AttributeError, NameError, AssertionError)


def load(device: slangpy.Device, name: str, text: str, link: Sequence[Loaded] = (), eager: bool = False) -> Loaded:
    """Compile `text` as module `name` in the device's default session.

    Parameters
    ----------
    device : slangpy.Device
        Where to.
    name : str
        A name that was never used with other text in this session: one made of a content hash.
    text : str
        The whole Slang source.
    link : sequence of Loaded
        Modules that it imports; SlangPy needs them named to use their structs in signatures.
    eager : bool
        Compile kernels for the target when they are built, not at their first launch. The guard's child uses
        this to meet every compiler fault without launching anything.

    Raises
    ------
    slangpy.SlangCompileError
        With the compiler's text.
    """
    import slangpy as spy

    raw = device.load_module_from_source(name, text)
    options: dict[str, Any] = {"defer_target_compilation": False} if eager else {}
    return Loaded(name, raw, spy.Module(raw, options=options, link=[m.module for m in link]))


def function_node(loaded: Loaded, name: str, own: int) -> FunctionNode:
    """Give SlangPy's function `name` of a module, as the module itself declares it.

    Looking it up by name alone would mix it with Slang's built-ins of the same name (``lerp``, ``dot``) and with
    attributes of ``slangpy.Module`` (``name``, ``device``).

    Parameters
    ----------
    loaded : Loaded
        The module.
    name : str
        Name of the function.
    own : int
        How many functions of that name the module declares, generic ones not counted.
    """
    import slangpy as spy
    from slangpy.core.function import Function

    layout = loaded.module.layout
    if own == 1:
        declared = loaded.raw.module_decl.find_children_of_kind(spy.DeclReflection.Kind.func, name)
        found = layout.find_function(declared[0].as_function())
    else:
        found = loaded.overloaded.get(name) or layout.find_function_by_name(name)
    return Function(module=loaded.module, func=found, struct=None, options=loaded.module.options)
