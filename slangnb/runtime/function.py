"""A Slang function as a Python callable: SlangPy's calling convention, help, and the ways to change a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slangnb.compiler.reflection import FunctionInfo
from slangnb.runtime.constants import constants_of
from slangnb.runtime.describing import describe, no_attribute, python_signature
from slangnb.runtime.dispatch import Dispatch
from slangnb.runtime.target import Step, Target

if TYPE_CHECKING:
    from slangpy.core.function import FunctionNode

    from slangnb.runtime.session import Session


#: What completion offers.
PROMISED = ("bwds", "call_group_shape", "constants", "map", "return_type", "set", "slangpy", "source")


class Function:
    """A Slang function of a module.

    Call it as SlangPy functions are called: arguments by position or name, ``_result="numpy"``, ``"tensor"`` or a
    tensor to fill. ``f.bwds(...)`` is the backward pass: it writes the gradients of the arguments, starting from
    zero (or adding to what is there, with ``accumulate=True``), from the gradient that ``_result`` carries.

    Attributes
    ----------
    target : Target
        What its name means now.
    steps : tuple
        What ``map``, ``set``, ``constants`` and their kin were called with, in turn.
    is_backward : bool
        Whether this is a backward pass.
    audited : bool
        Whether a backward pass is refused where Slang gets it wrong.

    Raises
    ------
    CallError
        For arguments that do not fit.
    GradientError
        For a backward call that could only give a wrong or silently zero gradient.
    CompileError
        For faults that Slang finds only when it makes the kernel.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float square(float x) { return x * x; }")
    >>> x = sn.tensor([1.0, 2.0, 3.0], grad=True)
    >>> m.square(x, _result="numpy")
    array([1., 4., 9.], dtype=float32)
    """

    def __init__(
        self, target: Target, steps: tuple[Step, ...] = (), is_backward: bool = False, audited: bool = True
    ) -> None:
        self.target = target
        self.steps = steps
        self.is_backward = is_backward
        self.audited = audited
        self._bwds: Function | None = None
        self._renew()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function; see the class for the convention."""
        if self.target.version != self._version:
            self._renew()
        return self._dispatch(self, args, kwargs)

    def _with(self, method: str, *args: Any, **kwargs: Any) -> Function:
        return Function(self.target, (*self.steps, (method, args, kwargs)), self.is_backward)

    @property
    def session(self) -> Session:
        """The session that it runs on."""
        return self.target.session

    @property
    def bwds(self) -> Function:
        """The backward pass: arguments as in the forward call, and ``_result`` with the gradient to start from."""
        if self._bwds is None:
            self._bwds = Function(self.target, self.steps, True)
        return self._bwds

    def map(self, *args: Any, **kwargs: Any) -> Function:
        """Say which dimensions or types the arguments are mapped to, as in SlangPy."""
        return self._with("map", *args, **kwargs)

    def set(self, *args: Any, **kwargs: Any) -> Function:
        """Set global uniforms of the module for the call, as in SlangPy."""
        return self._with("set", *args, **kwargs)

    def constants(self, constants: dict[str, Any]) -> Function:
        """Set link-time constants, as in SlangPy; other values mean another kernel.

        Raises
        ------
        CallError
            For names that the source does not declare ``extern static const``, and values of other types.
        """
        self.target.require()  # says why there is none
        return self._with("constants", constants_of(self.target, constants))

    def return_type(self, return_type: type | str) -> Function:
        """Say what the result shall be, as in SlangPy: ``"numpy"``, ``"tensor"`` or a class."""
        return self._with("return_type", return_type)

    def call_group_shape(self, shape: Any) -> Function:
        """Say how the call is divided into groups of threads, as in SlangPy."""
        return self._with("call_group_shape", shape)

    @property
    def slangpy(self) -> FunctionNode:
        """SlangPy's own function, without any of the checks."""
        return self._dispatch.node(self.target.require(), self.steps)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        node = self.slangpy  # append_to, dispatch, prelude, ...: a SlangPy function in all other ways
        if not hasattr(node, name):
            raise AttributeError(no_attribute(self.target.info.name, name, [*dir(type(self)), *dir(node)]))
        return getattr(node, name)

    @property
    def source(self) -> str:
        """The Slang text of the function."""
        return self.target.info.source

    @property
    def info(self) -> FunctionInfo:
        """Parameters, types and differentiability, as data."""
        return self.target.info

    def __dir__(self) -> list[str]:
        return [*PROMISED]

    def _renew(self) -> None:
        """Say what the function is now, for ``help``, ``f?`` and tab completion; forget the plans of the old one."""
        info = self.target.info
        self._version = self.target.version
        self._dispatch = Dispatch(self.target, self.steps, self.is_backward, self.audited)
        self.__name__ = self.__qualname__ = info.name
        self.__doc__ = describe(info, self.target.module)
        self.__signature__ = python_signature(info)

    def __repr__(self) -> str:
        info = self.target.info
        text = " | ".join(str(s) for s in info.overloads) or f"generic {info.name}"
        marks = ["differentiable"] if info.differentiable else []
        name = ".bwds" if self.is_backward else ""
        return f"<slang function{name} {text}{' [differentiable]' if marks else ''}>"
