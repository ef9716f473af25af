"""What slangnb has for PyTorch, as ``sn.torch``. Torch itself is imported when one of the names is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from slangnb.errors import CallError

if TYPE_CHECKING:
    from slangnb.interop.slangtorch.load import load
    from slangnb.interop.torch_module import SlangModule

    autograd: Any  # a name of torch's own too, which type checkers take this module for

__all__ = ["SlangModule", "autograd", "load"]

_HOMES = {
    "SlangModule": "slangnb.interop.torch_module",
    "autograd": "slangnb.interop.slangtorch.autograd",
    "load": "slangnb.interop.slangtorch.load",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'slangnb.torch' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise CallError(f"sn.torch.{name} needs PyTorch, which is not installed", remedy="pip install torch") from None


def __dir__() -> list[str]:
    return list(__all__)
