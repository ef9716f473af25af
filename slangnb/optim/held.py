"""Where the values of a parameter live while they are fitted: few numbers on the host, many on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from slangnb.compiler.reflection import REAL, TypeInfo
from slangnb.errors import CallError
from slangnb.optim.optimizers import Floats, Optimizer
from slangnb.runtime import foreign
from slangnb.runtime.checks import called
from slangnb.runtime.new_tensor import tensor
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.tensors import SCALARS, dtype_name

if TYPE_CHECKING:
    from slangnb.runtime.session import Session

#: Arrays of more numbers are kept on the device, where a launch changes them all.
MOST_ON_HOST = 4096
_KERNEL = "void sn_step({passed}) {{ {work} p = {work}(sn_p), g = {work}(sn_g); {update} sn_p = {kind}(p); }}"


class Held(Protocol):
    """The values of one parameter."""

    @property
    def given(self) -> Any:
        """What goes into a call of the loss."""
        ...

    def step(self, gradient: Any, step: int) -> None:
        """Change the values by their gradient."""

    def result(self) -> Any:
        """Give the values, of the kind that came in."""

    def numbers(self) -> Floats | None:
        """Give a copy of the values; None for those on the device."""

    def record(self) -> None:
        """Take note of the values: those that the loss is of."""

    def go_back(self) -> None:
        """Give up what was changed since; values on the device stay."""


class OnHost:
    """A number, an array, or a Parameter: its values are float64 here, so that small changes are not lost."""

    def __init__(self, start: Any, optimizer: Optimizer, dtype: str = "") -> None:
        self._start, self._optimizer, self._dtype = start, optimizer, dtype
        self._values: Floats = np.array(start.value if isinstance(start, Parameter) else start, np.float64)
        self._recorded = self._values
        self._state = {name: np.zeros_like(self._values) for name in optimizer.state}

    @property
    def given(self) -> Any:
        """What goes into a call of the loss."""
        if self._dtype and isinstance(self._start, np.ndarray):
            return self._values.astype(self._dtype)
        return self.result()

    def step(self, gradient: Any, step: int) -> None:
        """Change the values by their gradient."""
        self._take(self._optimizer.change(self._values, np.asarray(gradient, np.float64), self._state, step))

    def _take(self, values: Floats) -> None:
        self._values = values
        if isinstance(self._start, Parameter):
            self._start.value = values

    def result(self) -> Any:
        """Give the values, of the kind that came in."""
        if isinstance(self._start, Parameter):
            return self._start
        if isinstance(self._start, np.ndarray):
            return self._values.astype(self._start.dtype)
        return self._values.tolist()

    def numbers(self) -> Floats | None:
        """Give a copy of the values."""
        return np.array(self._values)

    def record(self) -> None:
        """Take note of the values; no copy, since `step` makes new ones."""
        self._recorded = self._values

    def go_back(self) -> None:
        """Give up what was changed since."""
        self._take(self._recorded)


class OnDevice:
    """A SlangPy tensor: one launch changes it in place, and what the optimiser remembers stays beside it."""

    def __init__(self, own: Any, start: Any, optimizer: Optimizer, session: Session) -> None:
        self.given, self._start, self._optimizer = own, start, optimizer
        kind = dtype_name(own.dtype)
        if kind.rstrip("234") not in REAL:
            raise CallError(
                f"tensors of {kind} are not fitted here",
                remedy="give tensors of float, half or double, or of vectors of them",
            )
        work = kind.replace("half", "float")  # what it remembers of a half is no half
        zeros = np.zeros((*own.shape.as_tuple(), *own.dtype.shape.as_tuple()), np.float32)
        self._state = {name: tensor(zeros, dtype=work, session=session) for name in optimizer.state}
        passed = [f"inout {kind} sn_p", f"{kind} sn_g", *(f"inout {work} {name}" for name in optimizer.state)]
        passed += [f"{work.rstrip('234')} {name}" for name in optimizer.numbers(1)]
        source = _KERNEL.format(passed=", ".join(passed), work=work, kind=kind, update=optimizer.update)
        self._update = session.compile(source).sn_step

    def step(self, gradient: Any, step: int) -> None:
        """Change the values by their gradient."""
        self._update(sn_p=self.given, sn_g=gradient, **self._state, **self._optimizer.numbers(step))

    def result(self) -> Any:
        """Give the values, of the kind that came in."""
        return self.given.to_numpy().astype(self._start.dtype) if isinstance(self._start, np.ndarray) else self.given

    def numbers(self) -> Floats | None:
        """Give none: they are not one array of the host."""
        return None

    def record(self) -> None:
        """Do nothing: a copy at each step would take as long as the step."""

    def go_back(self) -> None:
        """Do nothing."""


class OfFields:
    """A dict of parameters, for a struct."""

    def __init__(self, fields: Mapping[str, Held]) -> None:
        self._fields = fields

    @property
    def given(self) -> Any:
        """What goes into a call of the loss."""
        return {name: one.given for name, one in self._fields.items()}

    def step(self, gradient: Any, step: int) -> None:
        """Change the values by their gradient."""
        for name, one in self._fields.items():
            one.step(gradient[name], step)

    def result(self) -> Any:
        """Give the values, of the kind that came in."""
        return {name: one.result() for name, one in self._fields.items()}

    def numbers(self) -> Floats | None:
        """Give none: they are not one array of the host."""
        return None

    def record(self) -> None:
        """Take note of the values."""
        for one in self._fields.values():
            one.record()

    def go_back(self) -> None:
        """Give up what was changed since."""
        for one in self._fields.values():
            one.go_back()


def held(name: str, start: Any, kind: TypeInfo | None, optimizer: Optimizer, session: Session) -> Held:
    """Take the start of a parameter; `kind` is the Slang type of the function's parameter, where it is known.

    Raises
    ------
    CallError
        For values that are not fitted here.
    """
    if foreign.library_of((start,)) is not None:
        raise CallError(
            f"{name!r} is {called(start)}; sn.optimize fits numbers, numpy arrays, SlangPy tensors and sn.Parameter",
            argument=name,
            remedy="fit torch's tensors by torch.optim: loss(...).mean().backward() goes through Slang functions",
        )
    _refuse_masked(name, start)
    if hasattr(start, "storage"):
        return OnDevice(start, start, optimizer, session)
    if isinstance(start, Parameter):
        return OnHost(start, optimizer)
    if isinstance(start, Mapping) and start:
        types = kind.fields if kind is not None else {}
        return OfFields({k: held(f"{name}.{k}", v, types.get(k), optimizer, session) for k, v in start.items()})
    array = _as_numbers(name, start)
    own = placed(name, array.astype(_dtype_of(kind) or array.dtype), kind, session)
    if not isinstance(own, np.ndarray):
        return OnDevice(own, array, optimizer, session)
    return OnHost(array if isinstance(start, np.ndarray) else start, optimizer, _dtype_of(kind))


def _dtype_of(kind: TypeInfo | None) -> str:
    """Give numpy's name of a real type; empty where it is not known."""
    return SCALARS[kind.scalar] if kind is not None and kind.scalar in REAL else ""


def _as_numbers(name: str, start: Any) -> np.ndarray:
    try:
        array = np.asarray(start)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "fiu" or not array.size:
        raise CallError(
            f"the start of {name!r} is {called(start)}, not numbers",
            argument=name,
            remedy="write params={'a': 2.0}: the name of each parameter, and the value to start from",
        )
    return array.astype(np.float32) if array.dtype.kind in "iu" else array


def _refuse_masked(name: str, value: Any) -> None:
    foreign.refuse_masked(value, repr(name), f"pass {name}.filled(0)")


def placed(name: str, value: Any, kind: TypeInfo | None, session: Session) -> Any:
    """Copy an array, a large one to the device, since each step reads it; give tensors and all else as they are.

    `kind` is the type of the parameter that it goes to, where it is known.
    """
    _refuse_masked(name, value)
    if isinstance(value, dict):
        return {key: placed(f"{name}.{key}", one, None, session) for key, one in value.items()}
    if isinstance(value, list):
        return [placed(name, one, None, session) for one in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.size <= MOST_ON_HOST or kind is None or kind.kind not in ("scalar", "vector"):
        return value.copy()
    if value.dtype.name != _dtype_of(kind) or value.shape[value.ndim - len(kind.shape) :] != tuple(kind.shape):
        return value.copy()
    return tensor(value, dtype=kind.scalar + "".join(map(str, kind.shape)), session=session)
