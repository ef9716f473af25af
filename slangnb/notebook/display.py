"""How SlangPy's tensors look as the result of a cell, and code in errors: registered with IPython, nothing patched."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from slangnb.errors import CODE_COLOURS
from slangnb.notebook.excerpts import coloured

#: Where SlangPy defines the class; by name, so that registering does not import SlangPy.
TENSOR = ("slangpy.native_func", "Tensor")


def register(shell: InteractiveShell) -> None:
    """Show tensors with their gradients, and code in errors with colours."""
    _formatter(shell).for_type_by_name(*TENSOR, _tensor_bundle)
    shell.meta[CODE_COLOURS] = coloured


def unregister(shell: InteractiveShell) -> None:
    """Show tensors and errors as before."""
    shell.meta.pop(CODE_COLOURS, None)
    formatter = _formatter(shell)
    formatter.deferred_printers.pop(TENSOR, None)
    for kind in [k for k in formatter.type_printers if (k.__module__, k.__name__) == TENSOR]:
        del formatter.type_printers[kind]


def _formatter(shell: InteractiveShell) -> Any:
    formatter: Any = shell.display_formatter
    return formatter.mimebundle_formatter


def _tensor_bundle(tensor: Any, include: Any = None, exclude: Any = None) -> Any:
    from slangnb.views import mimebundle

    return mimebundle(tensor, include, exclude)
