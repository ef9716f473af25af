"""How a function and its derivatives are called in Slang, for all kernels that we write. Pure.

What is passed stands in variables: ``sn_v_`` values, ``sn_u_`` upstream gradients of results, each with the name of
the parameter behind. A plain call leaves its results in ``sn_o_``, a reverse call its gradients in ``sn_p_``; what is
returned is named ``0``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slangnb.compiler.reflection import Parameter, TypeInfo, declare, plain_name
from slangnb.runtime.fused.job import Output


def plain_call(
    call: str, parameters: Sequence[Parameter], outputs: Sequence[Output], values: Mapping[str, str]
) -> list[str]:
    """Write a call of the function itself.

    Parameters
    ----------
    call : str
        How the function is called, such as ``"f"`` or ``"square<float>"``.
    parameters : sequence of Parameter
    outputs : sequence of Output
    values : mapping of str to str
        What is passed for parameters that are only read.

    Examples
    --------
    >>> x = TypeInfo("float", "scalar", "float", (), True)
    >>> y = Parameter("y", x, "out")
    >>> plain_call("f", [Parameter("x", x), y], [Output("y", x, "y")], {"x": "sn_v_x"})
    ['float sn_o_y;', 'f(sn_v_x, sn_o_y);']
    """
    lines, passed = [], []
    for p in parameters:
        name = f"sn_o_{p.name}"
        lines += [] if p.io == "in" else _changed(p, name)
        passed.append(values[p.name] if p.io == "in" else name)
    return [*lines, _called(call, passed, outputs, "sn_o_")]


def reverse_call(
    call: str, parameters: Sequence[Parameter], outputs: Sequence[Output], values: Mapping[str, str]
) -> list[str]:
    """Write a call of the derivative in reverse mode; see `plain_call`.

    Examples
    --------
    >>> x = TypeInfo("float", "scalar", "float", (), True)
    >>> reverse_call("f", [Parameter("x", x)], [Output("", x, "result")], {"x": "sn_v_x"})
    ['var sn_p_x = diffPair(sn_v_x);', 'bwd_diff(f)(sn_p_x, sn_u_0);']
    """
    lines, passed = [], []
    for p in parameters:
        if p.io == "out":
            # What has no derivative is no parameter of the derivative either.
            passed += [f"sn_u_{p.name}"] if p.derivable else []
        elif p.derivable:
            extra = f", sn_u_{p.name}" if p.io == "inout" else ""
            lines.append(f"var sn_p_{p.name} = diffPair(sn_v_{p.name}{extra});")
            passed.append(f"sn_p_{p.name}")
        else:
            passed.append(values[p.name])
    if any(not o.name and o.derivable for o in outputs):
        passed.append("sn_u_0")
    return [*lines, f"bwd_diff({call})({', '.join(passed)});"]


def forward_call(
    call: str,
    parameters: Sequence[Parameter],
    outputs: Sequence[Output],
    values: Mapping[str, str],
    tangents: Mapping[str, str],
    prefix: str,
) -> list[str]:
    """Write a call of the derivative in forward mode; see `plain_call`.

    Parameters
    ----------
    call, parameters, outputs, values
        As for `plain_call`.
    tangents : mapping of str to str
        Variables of the tangents, by parameter; 0 for the others.
    prefix : str
        Of the variables that are declared: pairs of a value and its tangent, or the value where it has none.

    Examples
    --------
    >>> x = TypeInfo("float", "scalar", "float", (), True)
    >>> forward_call("f", [Parameter("x", x)], [Output("", x, "result")], {"x": "sn_v_x"}, {"x": "sn_t_x"}, "sn_p_")
    ['var sn_p_x = diffPair(sn_v_x, sn_t_x);', 'let sn_p_0 = fwd_diff(f)(sn_p_x);']
    """
    lines, passed = [], []
    for p in parameters:
        name = f"{prefix}{p.name}"
        if p.io == "in" and not p.derivable:
            name = values[p.name]
        elif not p.derivable:
            lines += _changed(p, name)
        elif p.io == "out":
            lines.append(f"DifferentialPair<{plain_name(p.type.name)}> {name};")
        else:
            extra = f", {tangents[p.name]}" if p.name in tangents else ""
            lines.append(f"var {name} = diffPair(sn_v_{p.name}{extra});")
        passed.append(name)
    return [*lines, _called(f"fwd_diff({call})", passed, outputs, prefix)]


def declare_derivative(t: TypeInfo, name: str) -> str:
    """Write a variable of the type that derivatives of a type have."""
    return declare(t, name) if t.kind != "struct" else f"{plain_name(t.name)}.Differential {name}"


def _changed(p: Parameter, name: str) -> list[str]:
    """Declare a variable that the function writes."""
    return [f"{declare(p.type, name)};", *([f"{name} = sn_v_{p.name};"] if p.io == "inout" else [])]


def _called(call: str, passed: Sequence[str], outputs: Sequence[Output], prefix: str) -> str:
    run = f"{call}({', '.join(passed)});"
    return f"let {prefix}0 = {run}" if any(not o.name for o in outputs) else run
