"""What `gradcheck` shifts and what it reads: the numbers of the arguments, and a function's values for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.autodiff.callee import Callee
from slangnb.autodiff.transforms import make_call
from slangnb.compiler.reflection import REAL, TypeInfo, plain_name
from slangnb.errors import GradientError
from slangnb.runtime.function import Function
from slangnb.runtime.fused.engine import Wish
from slangnb.runtime.fused.values import NotFusedError, numbers
from slangnb.runtime.nesting import Path, map_leaves
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.struct_values import fields_of
from slangnb.runtime.tensors import SLANG_NAMES

if TYPE_CHECKING:
    from slangnb.runtime.session import Session


@dataclass(frozen=True, slots=True)
class Checked:
    """Numbers of an argument, or of a field of it, whose gradient is checked.

    Attributes
    ----------
    path : tuple of str
        The argument's name, then those of fields.
    scalar : str
        Slang's scalar type.
    base, analytic : np.ndarray
        The numbers, and their gradient; (elements..., components...).
    inner : int
        How many of the dimensions are components.
    put : callable
        Makes such an array what the function takes.
    """

    path: Path
    scalar: str
    base: np.ndarray
    analytic: np.ndarray
    inner: int
    put: Callable[[np.ndarray], Any]

    @property
    def name(self) -> str:
        """As the report writes it."""
        return ".".join(self.path)


@dataclass(slots=True)
class Values:
    """A function's values for changing arguments.

    Attributes
    ----------
    function : Function
    callee : Callee
        The call whose arguments change.
    arguments : dict
        By name; structs are dicts, never tensors of structs.
    mapped : bool
        Whether values belong to elements, so that all entries of an argument can be shifted at once.
    scalars : set of str
        Types of the results.
    """

    function: Function
    callee: Callee
    arguments: dict[str, Any]
    mapped: bool = True
    scalars: set[str] = field(default_factory=set)

    def at(self, path: Path, value: Any) -> np.ndarray:
        """Give all results with derivative, (elements..., components) in float64, with one argument replaced."""
        return self._of(self.replaced(path, value))

    def base(self) -> np.ndarray:
        """Give the results for the arguments themselves; this decides about `mapped`."""
        return self._of(self.arguments)

    def replaced(self, path: Path, value: Any) -> dict[str, Any]:
        """Give the arguments with another value at a place."""
        return map_leaves(self.arguments, lambda place, old: value if place == path else old)

    def _of(self, arguments: Mapping[str, Any]) -> np.ndarray:
        if self.mapped:
            try:
                return self._by_kernel(arguments)
            except NotFusedError:
                self.mapped = False
        return self._by_slangpy(arguments)

    def _by_kernel(self, arguments: Mapping[str, Any]) -> np.ndarray:
        bound = self.callee.bound
        slots = [replace(s, value=arguments[s.parameter.name]) for s in bound.slots if not _is_filled(s.parameter)]
        call = make_call(self.function, replace(self.callee, bound=replace(bound, slots=tuple(slots))))
        prepared = call.prepare(Wish("forward", (), stores=True))
        made = call.run(prepared, read=not self.scalars).outputs  # the first can be interrupted; then all are short
        found = [
            part.reshape((*prepared.shape, -1))
            for o in prepared.job.outputs
            for part in self._parts(o.type, read(made[o.id], o.type))
        ]
        return np.concatenate([p.astype(np.float64) for p in found], axis=-1)

    def _parts(self, t: TypeInfo, value: Any) -> list[np.ndarray]:
        """Give the numbers of a result that have a derivative."""
        if t.kind == "struct":
            return [part for n in t.carries for part in self._parts(t.fields[n], value[n])]
        if t.scalar not in REAL:
            return []
        self.scalars.add(t.scalar)
        return [value]

    def _by_slangpy(self, arguments: Mapping[str, Any]) -> np.ndarray:
        """Call through SlangPy; each number of its outputs is an element."""
        named, outputs = {}, []
        for slot in self.callee.bound.slots:
            p = slot.parameter
            named[p.name] = plain_input(p.type, arguments[p.name])
            if p.io == "out" or p.writes_by_index:
                before = slot.value.to_numpy()
                named[p.name] = made = like(slot.value)  # the caller's own tensor is not to change
                made.copy_from_numpy(before if p.type.access == "read_write" else np.zeros_like(before))
                outputs.append(made)
        if self.callee.bound.signature.returns.name != "void":
            outputs.append(self.function(**named, _result="tensor"))
        else:
            self.function(**named)
        arrays = [a for a in (y.to_numpy() for y in outputs) if a.dtype.kind == "f"]
        self.scalars |= {SLANG_NAMES[a.dtype.name] for a in arrays}
        return np.concatenate([a.astype(np.float64).reshape(-1) for a in arrays])[:, None]


def _is_filled(p: Any) -> bool:
    return p.io == "out" and p.type.kind != "tensor"


def checked_numbers(
    path: Path, t: TypeInfo, value: Any, analytic: Any, mapped: bool, session: Session
) -> list[Checked]:
    """List the numbers of an argument that have a gradient; `path` is its name, then keys of dicts."""
    import slangpy as spy

    if t.kind == "struct":
        derivative = replace(t, fields={n: t.fields[n] for n in t.carries})
        gradient = read(analytic, derivative) if isinstance(analytic, spy.Tensor) else analytic
        found = [checked_numbers((*path, n), t.fields[n], value[n], g, mapped, session) for n, g in gradient.items()]
        return [s for part in found for s in part]
    inner = 0 if t.kind == "tensor" else len(t.shape)
    scalar = t.scalar
    if isinstance(value, spy.Tensor):
        base, put = value.to_numpy(), _putter(value, keep=not mapped or t.kind == "tensor")
    else:
        array = value.array if isinstance(value, Parameter) else value
        base = array if isinstance(array, np.ndarray) else numbers(array, t)
        put = _itself if mapped or isinstance(value, np.ndarray) else partial(_as_number, session)
    base = np.ascontiguousarray(base, base.dtype.newbyteorder("=")).reshape(base.shape)
    scalar = scalar or SLANG_NAMES[base.dtype.name]
    found = analytic.to_numpy() if isinstance(analytic, spy.Tensor) else np.asarray(analytic)
    return [Checked(path, scalar, base, found.astype(np.float64).reshape(base.shape), inner, put)]


def _itself(array: np.ndarray) -> Any:
    return array


def _as_number(session: Session, array: np.ndarray) -> Any:
    """Give one value the form that SlangPy takes: vectors and matrices as a tensor of one element."""
    from slangnb.runtime.new_tensor import tensor

    return array.item() if array.ndim == 0 else tensor(array[None], session=session)


def _putter(value: Any, keep: bool) -> Callable[[np.ndarray], Any]:
    """Our own kernels read arrays where they read tensors; a tensor that the function indexes is written anew."""
    if not keep:
        return _itself
    own = like(value)

    def put(array: np.ndarray) -> Any:
        own.copy_from_numpy(array)
        return own

    return put


def like(t: Any) -> Any:
    """Make a tensor of the same type and shape, with arbitrary content."""
    import slangpy as spy

    return spy.Tensor.empty(t.device, shape=t.shape, dtype=t.dtype)


def plain_input(t: TypeInfo, value: Any) -> Any:
    """Give an argument the form that SlangPy takes, without the caller's gradients."""
    import slangpy as spy

    if isinstance(value, dict):
        return {k: plain_input(t.fields[k], v) if k in t.fields else v for k, v in value.items()}
    if isinstance(value, spy.Tensor):
        needs = t.carries_gradient and not t.name.startswith("I")  # such a type binds the gradient's buffer
        return value.detach().with_grads(zero=True) if needs else value.detach()
    return value.value if isinstance(value, Parameter) else value


def unpacked(t: TypeInfo, value: Any) -> Any:
    """Replace tensors of structs by dicts of arrays, so that their fields can be shifted."""
    import slangpy as spy

    if t.kind != "struct":
        return value
    if isinstance(value, spy.Tensor):
        return read(value, t)
    if isinstance(value, dict):
        return {k: unpacked(t.fields[k], v) if k in t.fields else v for k, v in value.items()}
    return value


def read(value: Any, t: TypeInfo) -> Any:
    """Read a tensor: an array, or for structs a dict of arrays by field; an array is given as it is.

    Raises
    ------
    GradientError
        For structs with fields that numpy cannot hold.
    """
    if t.kind != "struct":
        return value if isinstance(value, np.ndarray) else value.to_numpy()
    return _all_read(fields_of(value, t), t)


def _all_read(values: dict[str, Any], t: TypeInfo) -> dict[str, Any]:
    for name, value in values.items():
        if value is None:
            raise GradientError(f"gradcheck cannot read the field {name!r} of type {plain_name(t.fields[name].name)}")
        if isinstance(value, dict):
            _all_read(value, t.fields[name])
    return values
