"""Has refusals of tangents, seeds and directions say what they are: these go by the name of something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from slangnb.errors import CallError
from slangnb.runtime.fused.values import NotFusedError


@contextmanager
def meaning(name: str, said: str, written: str) -> Iterator[None]:
    """Have refusals call a value what a person calls it.

    Parameters
    ----------
    name : str
        What the value goes by.
    said : str
        What it is, with ``{}`` for that name or the field of it that is at fault.
    written : str
        How a remedy writes it.

    Examples
    --------
    >>> with meaning("x", "the tangent of {}", "tangent"):
    ...     raise CallError("f: 'x' is an array of float64", argument="x", remedy="cast it: x.astype(np.float32)")
    Traceback (most recent call last):
    slangnb.errors.CallError: f: the tangent of 'x' is an array of float64
    remedy: cast it: tangent.astype(np.float32)
    """
    try:
        yield
    except NotFusedError as reason:
        raise NotFusedError(_reworded(str(reason), name, said)) from None
    except CallError as error:
        own = error.argument or name
        if own.partition(".")[0] != name:
            raise
        in_code = rf"(?<![\w.]){re.escape(own)}(?=[.),]| = )"  # not the word `a`
        raise type(error)(
            _reworded(error.message, own, said),
            function=error.function,
            argument=error.argument,
            remedy=re.sub(in_code, written, error.remedy),
        ) from None


def _reworded(text: str, name: str, said: str) -> str:
    return text.replace(repr(name), said.format(repr(name)))
