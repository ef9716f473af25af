"""A value that all threads of a call share, with a gradient that is summed accurately."""

from __future__ import annotations

from typing import Any

import numpy as np

from slangnb.compiler.reflection import REAL
from slangnb.errors import CallError, GradientError
from slangnb.runtime import foreign
from slangnb.runtime.tensors import SCALARS, SLANG_NAMES, dtype_name, split_dtype


class Parameter:
    """A number, vector, matrix or array that every thread reads, and whose gradient is the sum over all threads.

    Pass it to a Slang function in place of a number. After ``f.bwds(...)`` the gradient is in ``.grad``; the sum is
    accurate to about 1e-7 for any number of threads, and has the same bits at every run on one backend.

    Parameters
    ----------
    value : array_like
        ``2.0``, ``[1, 2, 3]`` for a ``float3`` or ``float[3]``, a nested list or array for a matrix. Tensors of
        torch and of other libraries are copied: the gradient is here, not in ``torch.nn.Parameter.grad``.
    dtype : str, type or numpy.dtype, optional
        ``"float"`` (the default), ``"half"`` or ``"double"``.

    Attributes
    ----------
    version : int
        Counts the assignments to `value`.

    Raises
    ------
    CallError
        If `value` is empty or not numeric.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float scale(float a, float x) { return a * x; }")
    >>> a, x = sn.Parameter(2.0), sn.tensor([1.0, 2.0, 3.0])
    >>> y = m.scale(a, x, _result="tensor").with_grads()
    >>> y.grad.copy_from_numpy(np.ones(3, np.float32))
    >>> m.scale.bwds(a, x, _result=y)
    >>> a.grad
    6.0
    """

    def __init__(self, value: Any, dtype: Any = None) -> None:
        value = foreign.array(value)
        scalar, inner = split_dtype(dtype_name(dtype)) if dtype is not None else (_scalar_of(value), ())
        if scalar not in REAL:
            raise GradientError(f"a Parameter of {scalar} has no gradient", remedy="pass dtype='float'")
        self._array = _as_array(value, scalar)
        if inner and self._array.shape[-1:] != inner:
            raise CallError(
                f"a value of shape {self._array.shape} does not fit {dtype_name(dtype)}",
                remedy=f"give it {inner[0]} numbers, or write dtype={scalar!r}",
            )
        self._grad: np.ndarray | None = None
        self.version = 0

    @property
    def value(self) -> Any:
        """A copy of the value: a float, or an array."""
        return _out(self._array)

    @value.setter
    def value(self, new: Any) -> None:
        array = _as_array(foreign.array(new), self.dtype)
        if array.shape != self.shape:
            raise CallError(f"this Parameter has shape {self.shape}, the new value {array.shape}")
        self._array = array
        self.version += 1

    @property
    def grad(self) -> Any:
        """The gradient of the last backward call, or None."""
        return None if self._grad is None else _out(self._grad)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value; ``()`` for a number."""
        return self._array.shape

    @property
    def dtype(self) -> str:
        """Slang's name of the scalar type."""
        return SLANG_NAMES[self._array.dtype.name]

    @property
    def array(self) -> np.ndarray:
        """The value itself, for reading."""
        return self._array

    def set_grad(self, found: np.ndarray, accumulate: bool = False) -> None:
        """Take the gradient of a backward call, or add it to what is there."""
        found = np.asarray(found, self._array.dtype).reshape(self.shape)
        self._grad = found if self._grad is None or not accumulate else self._grad + found

    def __repr__(self) -> str:
        grad = "" if self._grad is None else f", grad={self.grad!r}"
        return f"Parameter({self.value!r}{grad})"


def _scalar_of(value: Any) -> str:
    name = value.dtype.newbyteorder("=").name if isinstance(value, np.ndarray | np.generic) else "float32"
    return SLANG_NAMES[name] if name in SLANG_NAMES and np.dtype(name).kind == "f" else "float"


def _as_array(value: Any, scalar: str) -> np.ndarray:
    if value is None or (isinstance(value, list | tuple) and None in value):
        raise CallError("None is no value for a Parameter", remedy="give a number to start from, as sn.Parameter(0.0)")
    try:
        array = np.array(value, dtype=SCALARS[scalar], order="C")
    except (TypeError, ValueError) as error:
        raise CallError(f"{value!r} is no value for a Parameter: {error}") from error
    if array.size == 0:
        raise CallError("a Parameter cannot be empty")
    array.flags.writeable = False
    return array


def _out(array: np.ndarray) -> Any:
    return array.item() if array.ndim == 0 else array.copy()
