"""``%%slang --check``: gradients are compared with differences as soon as the cell is compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from IPython.utils.capture import capture_output

import slangnb as sn
from slangnb.notebook.checking import random_arguments


def run(shell: Any, text: str) -> tuple[str, list[Any], list[str]]:
    """Run a cell; give what it printed, what it displayed, and its warnings."""
    with capture_output() as captured, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        outcome = shell.run_cell(text, store_history=True)
        outcome.raise_error()
    found = [f"{w.filename}:{w.lineno}: {w.message}" for w in said if issubclass(w.category, sn.GradientWarning)]
    return captured.stdout, captured.outputs, found


def test_right_gradients_take_a_line(shell: Any) -> None:
    text = """%%slang --check
float plain(float x) { return x; }
[Differentiable]
float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }
"""
    printed, shown, warned = run(shell, text)
    assert printed.splitlines()[1:] == ["polynomial: gradients right (4 arguments, 128 entries)"]
    assert not shown and not warned
    assert run(shell, text)[0] == printed
    assert run(shell, text.replace("--check", "--check -q"))[0] == ""


def test_wrong_gradients_show_the_table(shell: Any) -> None:
    text = """%%slang wrapping --check -q
[Differentiable] float wrap(float x, [Range(0.1, 0.25)] float period) { return fmod(x, period); }
[Differentiable] float twice(float x) { return 2 * x; }
"""
    attribute = "[__AttributeUsage(_AttributeTargets.Param)]\nstruct RangeAttribute { float low; float high; };\n"
    head, body = text.split("\n", 1)
    printed, shown, warned = run(shell, f"{head}\n{attribute}{body}")
    assert "\nwrap: gradient of 'period' WRONG (2 arguments, " in printed and "twice" not in printed
    assert len(shown) == 1 and {"text/plain", "text/html"} <= set(shown[0].data)
    assert "<- wrong" in shown[0].data["text/plain"] and "<script" not in shown[0].data["text/html"]
    assert warned == ["wrapping:4: wrap: the backward pass gives 'period' another gradient than differences do"]
    drawn = random_arguments(shell.user_ns["wrap"].info)
    assert 0.1 <= drawn["period"].min() <= drawn["period"].max() <= 0.25 and drawn["x"].max() > 1


def test_what_cannot_be_filled_is_named(shell: Any) -> None:
    printed, shown, warned = run(
        shell,
        """%%slang --check
import slangpy;
struct Disc : IDifferentiable { float3 colour; float radius; no_diff int layer; };
[Differentiable] float shade(Disc d, bool flip, uint n) { return flip ? dot(d.colour, d.colour) * d.radius * n : 0; }
[Differentiable] float read(int i, IDiffTensor<float, 1> t) { return t[i]; }
[Differentiable] T square<T : IFloat>(T x) { return x * x; }
[Differentiable] float area(float r) { return r * r; }
[Differentiable] float area(float w, float h) { return w * h; }
[Differentiable] void parts(float x, out float s, inout float c) { s = sin(x); c = c * cos(x); }
""",
    )
    assert [line for line in printed.splitlines()[1:] if not line.startswith(" ")] == [
        "shade: gradients right (2 arguments, 128 entries)",
        "read: not checked: 't' is a tensor, whose size only you know",
        "square: not checked: it is generic",
        "area: not checked: it is overloaded",
        "parts: gradients right (2 arguments, 64 entries)",
    ]
    assert not shown and not warned


def test_kinks_are_no_false_alarm(shell: Any) -> None:
    printed, _, warned = run(
        shell, "%%slang --check\n[Differentiable] float kinks(float x) { return abs(x - 1.0) + max(x, 0.9); }"
    )
    assert printed.splitlines()[1].startswith("kinks: gradients right (1 argument, ") and not warned


def test_inputs_are_the_same_at_every_run(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float x, half3 n, int k) { return x * n.x * k; }").f
    one, two = random_arguments(f.info), random_arguments(f.info)
    assert all(np.array_equal(one[n], two[n]) for n in one)
    assert one["n"].dtype == np.float16 and one["n"].shape == (32, 3) and set(one["k"].tolist()) == {1, 2, 3}


def test_detached_values_differ_from_differences(shell: Any) -> None:
    printed, _, warned = run(shell, "%%slang --check\n[Differentiable] float f(float x) { return x * detach(x); }")
    assert printed.splitlines()[1] == "f: gradient of 'x' WRONG (1 argument, 32 entries)" and len(warned) == 1
