"""Checks the form of a call: how many arguments there are, what it shall give, and what ``.map`` speaks of."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from slangnb.compiler.reflection import plain_name
from slangnb.errors import CallError
from slangnb.runtime.binding import Bound, too_many, unknown

#: What SlangPy can make a result of, by name.
RESULTS = ("numpy", "tensor", "texture")

Chain = Iterable[tuple[str, tuple[Any, ...], dict[str, Any]]]


def check_form(bound: Bound, chain: Chain, args: tuple[Any, ...], kwargs: Mapping[str, Any], backward: bool) -> None:
    """Refuse a call of a form that SlangPy does not have, before it says so in its own words.

    Raises
    ------
    CallError
        Saying how to write it.
    """
    if isinstance(bound.result_place, int) and not backward:
        raise too_many(bound.signature, len(args))
    for method, given, named in chain:
        if method == "return_type" and given:
            _check_result_kind(bound, given[0])
        if method == "map":
            _check_map(bound, given, named, args, kwargs)
    if isinstance(bound.result, str | type):
        _check_result_kind(bound, bound.result)


def _check_result_kind(bound: Bound, wanted: Any) -> None:
    """Refuse what is no kind of result; also textures of three components, at which SlangPy 0.43 ends the process."""
    import slangpy as spy

    name, returns = bound.signature.name, bound.signature.returns

    def refuse(message: str, remedy: str) -> CallError:
        return CallError(f"{name}{message}", function=name, argument="_result", remedy=remedy)

    if isinstance(wanted, str) and wanted not in RESULTS:
        close = difflib.get_close_matches(wanted, RESULTS, 1, 0.5)
        remedy = f"did you mean {close[0]!r}?" if close else f"write {', '.join(map(repr, RESULTS))}, or pass a tensor"
        raise refuse(f": there is no kind of result {wanted!r}", remedy)
    if isinstance(wanted, type) and wanted.__module__ == "builtins":
        raise refuse(
            f": the result cannot be made a {wanted.__name__}", "ask for 'numpy'; an array has .tolist() and .item()"
        )
    if wanted in ("texture", spy.Texture) and returns.shape not in ((), (2,), (4,)):
        raise refuse(
            f" returns {plain_name(returns.name)}, which no texture can hold",
            "return float, float2 or float4, or ask for a tensor",
        )


def _check_map(
    bound: Bound, given: tuple[Any, ...], named: dict[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """SlangPy maps by position what is passed by position, and by name what is passed by name."""
    signature = bound.signature
    names = [p.name for p in signature.parameters]
    for key in named:
        if key not in names:
            raise unknown(signature, key, names)
        if key not in kwargs:
            raise CallError(
                f"{signature.name}: .map names {key!r}, which the call passes by position",
                function=signature.name,
                argument=key,
                remedy=f"pass it by name, too: {signature.name}.map({key}=...)(..., {key}=...)",
            )
    if len(given) > len(args):
        raise CallError(
            f"{signature.name}: .map speaks of {len(given)} arguments by position, the call passes {len(args)}",
            function=signature.name,
            remedy="write for each what it is mapped to, in the same way as it is passed: by position or by name",
        )
