"""Pictures of tensors: the value beside its gradient.

>>> from slangnb.views import show
>>> show(height=[1.0, 2.0, 3.0])
height  float64 (3,)
  value     [1. 2. 3.]  min 1  max 3  mean 2  norm 3.742
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slangnb.views.history import History
    from slangnb.views.model import PairModel, Panel
    from slangnb.views.pair import PairView
    from slangnb.views.showing import mimebundle, show
    from slangnb.views.sources import read

# Imported on first use. No module may have the name of one of these functions: importing it would hide them.
_HOMES = {
    "History": "history",
    "PairModel": "model",
    "PairView": "pair",
    "Panel": "model",
    "mimebundle": "showing",
    "read": "sources",
    "show": "showing",
}

__all__ = ["History", "PairModel", "PairView", "Panel", "mimebundle", "read", "show"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"slangnb.views.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'slangnb.views' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
