"""How SlangPy's values look as the result of a cell, and code in errors: registered with IPython, nothing patched."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from slangnb.errors import CODE_COLOURS
from slangnb.notebook.excerpts import coloured

#: Where SlangPy defines the classes; by name, so that registering does not import SlangPy.
TENSOR = ("slangpy.native_func", "Tensor")
_SIZES = ("1", "2", "3", "4")
VECTORS = tuple(
    ("slangpy.math", scalar + size) for scalar in ("bool", "float", "float16_t", "int", "uint") for size in _SIZES
)
MATRICES = tuple(("slangpy.math", f"float{rows}x{columns}") for rows in _SIZES[1:] for columns in _SIZES[1:])


def register(shell: InteractiveShell) -> None:
    """Show tensors with their gradients, vectors by their names, and code in errors with colours."""
    bundles, texts = _formatters(shell)
    tensors = _Tensors()
    bundles.for_type_by_name(*TENSOR, tensors.bundle)
    texts.for_type_by_name(*TENSOR, tensors.pretty)
    for name in VECTORS + MATRICES:
        texts.for_type_by_name(*name, _pretty_vector)
    shell.meta[CODE_COLOURS] = coloured


def unregister(shell: InteractiveShell) -> None:
    """Show values and errors as before."""
    shell.meta.pop(CODE_COLOURS, None)
    ours = {TENSOR, *VECTORS, *MATRICES}
    for formatter in _formatters(shell):
        for name in ours:
            formatter.deferred_printers.pop(name, None)
        for kind in [k for k in formatter.type_printers if (k.__module__, k.__name__) in ours]:
            del formatter.type_printers[kind]


def _formatters(shell: InteractiveShell) -> tuple[Any, Any]:
    """Give IPython's formatters for all that a value is shown as, and for its text alone."""
    formatter: Any = shell.display_formatter
    return formatter.mimebundle_formatter, formatter.formatters["text/plain"]


class _Tensors:
    """Shows a tensor as a picture with its text; within a tuple, a list or a dict, in a few words."""

    def __init__(self) -> None:
        self._text: str | None = None

    def bundle(self, tensor: Any, include: Any = None, exclude: Any = None) -> Any:
        from slangnb.views import mimebundle

        data, metadata = mimebundle(tensor, include, exclude)
        self._text = data.get("text/plain")
        return data, metadata

    def pretty(self, tensor: Any, printer: Any, cycle: bool) -> None:
        # IPython asks for the text again where there is a printer for it: measuring twice would take twice as long.
        text, self._text = self._text, None
        if text is None or len(printer.stack) > 1:
            from slangnb.views.tensor_arrays import tensor_words

            text = tensor_words(tensor)
        printer.text(text)


def _pretty_vector(value: Any, printer: Any, cycle: bool) -> None:
    """Write a vector as Slang does: SlangPy's own `{2, 4, 6}` would be a set."""
    printer.text(type(value).__name__ + repr(value).replace("{", "(").replace("}", ")"))
