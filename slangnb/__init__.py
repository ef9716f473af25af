"""Write, run and see differentiable Slang code in JupyterLab.

>>> import slangnb as sn
>>> m = sn.session().compile("[Differentiable] float square(float x) { return x * x; }")
>>> m.square(3.0)
9.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slangnb.autodiff.gradcheck import gradcheck
    from slangnb.autodiff.products import hvp, jvp, vjp
    from slangnb.autodiff.transforms import grad, value_and_grad
    from slangnb.errors import (
        BackendError,
        CallError,
        CompileError,
        CompileWarning,
        GradientError,
        GradientWarning,
        SlangNbError,
    )
    from slangnb.notebook.extension import load_ipython_extension, unload_ipython_extension
    from slangnb.optim.loop import optimize
    from slangnb.optim.optimizers import SGD, Adam
    from slangnb.runtime.current import session
    from slangnb.runtime.new_tensor import tensor
    from slangnb.runtime.parameter import Parameter
    from slangnb.runtime.session import Session
    from slangnb.views import show
    from slangnb.views.explore.view import explore
    from slangnb.views.landscape import landscape

# Imported on first use: `import slangnb` must not load SlangPy before a driver is in place.
_HOMES = {
    "gradcheck": "slangnb.autodiff.gradcheck",
    "grad": "slangnb.autodiff.transforms",
    "hvp": "slangnb.autodiff.products",
    "jvp": "slangnb.autodiff.products",
    "vjp": "slangnb.autodiff.products",
    "value_and_grad": "slangnb.autodiff.transforms",
    "BackendError": "slangnb.errors",
    "CallError": "slangnb.errors",
    "CompileError": "slangnb.errors",
    "CompileWarning": "slangnb.errors",
    "GradientError": "slangnb.errors",
    "GradientWarning": "slangnb.errors",
    "SlangNbError": "slangnb.errors",
    "Adam": "slangnb.optim.optimizers",
    "Parameter": "slangnb.runtime.parameter",
    "SGD": "slangnb.optim.optimizers",
    "Session": "slangnb.runtime.session",
    "optimize": "slangnb.optim.loop",
    "session": "slangnb.runtime.current",
    "tensor": "slangnb.runtime.new_tensor",
    "landscape": "slangnb.views.landscape",
    "show": "slangnb.views",
    "explore": "slangnb.views.explore.view",
    "torch": "slangnb.interop.torch",
    "load_ipython_extension": "slangnb.notebook.extension",
    "unload_ipython_extension": "slangnb.notebook.extension",
}

__all__ = [
    "SGD",
    "Adam",
    "BackendError",
    "CallError",
    "CompileError",
    "CompileWarning",
    "GradientError",
    "GradientWarning",
    "Parameter",
    "Session",
    "SlangNbError",
    "explore",
    "grad",
    "gradcheck",
    "hvp",
    "jvp",
    "landscape",
    "load_ipython_extension",
    "optimize",
    "session",
    "show",
    "tensor",
    "unload_ipython_extension",
    "value_and_grad",
    "vjp",
]

#: What is to be written for names that are not here.
_INSTEAD = {
    "compile": "write a %%slang cell, or sn.session().compile(source)",
    "load": "write %slang load FILE, or sn.session().load(path)",
    "jit": "none is needed: a %%slang cell is compiled",
    "vmap": "none is needed: called with arrays, a function runs once for each element",
    "array": "write sn.tensor(...)",
    "plot": "write sn.show(x)",
    "minimize": "write sn.optimize(loss, params={'a': 2.0}, data={'x': x})",
    "backward": "write sn.grad(f), or f.bwds(..., _result=y)",
}


def __getattr__(name: str) -> Any:
    if name == "torch":  # not in __all__: `from slangnb import *` must not hide torch itself
        return import_module(_HOMES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'slangnb' has no attribute {name!r}{_hint(name)}")


def _hint(name: str) -> str:
    """Say what may be meant by a name that is not there."""
    if name in ("live", "history"):
        return f"; write sn.show(x, {name}=True)"
    if name in ("zeros", "ones", "full", "arange", "linspace"):
        return f"; write sn.tensor(np.{name}(...))"
    if name in _INSTEAD:
        return f"; {_INSTEAD[name]}"
    from difflib import get_close_matches

    close = get_close_matches(name, __all__, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def __dir__() -> list[str]:
    return sorted([*__all__, "torch"])
