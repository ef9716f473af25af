"""``%%slang --check``: compares the gradients of a cell's functions with differences, on small random inputs."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from IPython.display import display

from slangnb.autodiff.gradcheck import GradcheckReport, gradcheck
from slangnb.compiler.reflection import PLAIN_KINDS, FunctionInfo, Parameter, TypeInfo, plain_name
from slangnb.errors import CompileError, GradientWarning, SlangNbError
from slangnb.runtime.tensors import SCALARS

#: Elements of the random inputs.
COUNT = 32
#: Most functions have a derivative here: no logarithm, root or quotient leaves its domain.
USUAL = 0.3, 2.0
#: Whole numbers are counts and choices more often than not.
WHOLE = 1, 3
_RANGE = re.compile(r"Range\s*\(\s*([-+.\deE]+)[fhFH]?\s*,\s*([-+.\deE]+)[fhFH]?\s*\)")


class NoInputError(Exception):
    """A function cannot be given random numbers; the text says why."""


def check(functions: list[Any], label: str, quiet: bool = False) -> None:
    """Check the differentiable ones of these functions, and print a line for each.

    Parameters
    ----------
    functions : list of Function
    label : str
        What the cell is called in a warning, such as ``"In[3]"``.
    quiet : bool
        Speak of wrong gradients only.
    """
    for f in functions:
        info: FunctionInfo = f.info
        if not info.differentiable:
            continue
        try:
            report = gradcheck(f, **random_arguments(info))
        except NoInputError as reason:
            line = f"{info.name}: not checked: {reason}"
        except SlangNbError as error:
            line = f"{info.name}: not checked: {_reason(error)}"
        else:
            line = in_a_line(report)
            if not report.ok:
                print(line)
                display(report)
                warn(report, label, info.line)
                continue
        if not quiet:
            print(line)


def _reason(error: SlangNbError) -> str:
    """Give the first line of what went wrong."""
    if isinstance(error, CompileError) and error.diagnostics:
        return error.diagnostics[0].message
    return error.message.splitlines()[0]


def in_a_line(report: GradcheckReport) -> str:
    """Say in one line what was found; the same at every run.

    Examples
    --------
    >>> from slangnb.autodiff.gradcheck_report import GradcheckVerdict
    >>> print(in_a_line(GradcheckReport("f", True, 0.0, (), {"x": GradcheckVerdict("ok", 32, 30, 0)})))
    f: gradients right (1 argument, 30 of 32 entries; nothing can be said of the others)
    """
    found = report.verdicts
    wrong = [repr(name) for name, v in found.items() if v.verdict == "wrong"]
    checked, entries = (sum(getattr(v, k) for v in found.values()) for k in ("checked", "entries"))
    many = f"{len(found)} argument{'s' * (len(found) != 1)}"
    count = f"{entries} entries"
    if checked < entries:
        count = f"{checked} of {count}; nothing can be said of the others"
    if wrong:
        said = f"gradient{'s' * (len(wrong) > 1)} of {' and '.join(wrong)} WRONG"
    else:
        said = "gradients right" if checked else "gradients unsure"
    return f"{report.function}: {said} ({many}, {count})"


def warn(report: GradcheckReport, label: str, line: int) -> None:
    """Warn at the place of the function in its cell, and not in a file of this package."""
    wrong = " and ".join(repr(name) for name, v in report.verdicts.items() if v.verdict == "wrong")
    message = f"{report.function}: the backward pass gives {wrong} another gradient than differences do"
    warnings.warn_explicit(message, GradientWarning, label, line)


def random_arguments(info: FunctionInfo, count: int = COUNT) -> dict[str, Any]:
    """Make random inputs, the same at every run.

    Raises
    ------
    NoInputError
        For parameters that no random numbers fit.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float scale(float a, float3 n) { return a * n.x; }")
    >>> {name: value.shape for name, value in random_arguments(m.scale.info).items()}
    {'a': (32,), 'n': (32, 3)}
    """
    if info.signature is None:
        raise NoInputError("it is " + ("overloaded" if info.overloads else "generic"))
    rng = np.random.default_rng(0)
    made = {}
    for p in info.signature.parameters:
        if p.type.kind == "tensor":
            raise NoInputError(f"{p.name!r} is a tensor, whose size only you know")
        if p.io != "out":
            made[p.name] = _random(p.name, p.type, range_of(p), count, rng)
    return made


def range_of(p: Parameter) -> tuple[float, float] | None:
    """Give the range that an attribute of the parameter names, as in ``[Range(-1.0, 1.0)] float x``.

    Examples
    --------
    >>> range_of(Parameter("x", TypeInfo("float", "scalar", "float"), attributes=("Range(-1.0f, 5)",)))
    (-1.0, 5.0)
    """
    for attribute in p.attributes:
        found = _RANGE.search(attribute)
        if found is None:
            continue
        try:
            low, high = float(found[1]), float(found[2])
        except ValueError:
            continue  # an expression: it is the compiler's to compute
        if low < high:
            return low, high
    return None


def _random(name: str, t: TypeInfo, limits: tuple[float, float] | None, count: int, rng: np.random.Generator) -> Any:
    if t.kind == "struct" and t.fields:
        return {key: _random(f"{name}.{key}", inner, limits, count, rng) for key, inner in t.fields.items()}
    if t.kind == "scalar" and t.scalar == "bool":
        return True
    if t.kind not in PLAIN_KINDS or t.scalar not in SCALARS:
        raise NoInputError(f"{name!r} is a {plain_name(t.name)}, which no random numbers fit")
    dtype = np.dtype(SCALARS[t.scalar])
    if dtype.kind in "iu":
        low, high = limits or WHOLE
        return rng.integers(int(low), int(high), (count, *t.shape), dtype, endpoint=True)
    return rng.uniform(*(limits or USUAL), (count, *t.shape)).astype(dtype)
