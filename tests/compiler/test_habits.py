# ruff: noqa: E501
# Long lines here are texts as a person writes them.

"""What people bring from Python, C and GLSL: one diagnostic, with what to write instead; that compiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.advice.lint import lint
from slangnb.compiler.advice.powers import instead
from slangnb.compiler.source import Source

F = "float f(float x)\n{\n    return x * x;\n}\n"
CALL = "calls go in a Python cell: move `{}` to one below"
PYTHON = "this is an import of Python: move it to a Python cell"
FOR = "write `for (int i = 0; i < n; i++)`"
HEADER = "delete this line: Slang needs no headers of C; `sin`, `exp` and the like are built in"
GLOBAL = "a global cannot change while a kernel runs: declare `{0}` inside the function; as `static {1} {0}` each element has its own"
WHOLE = "write `float` for a function of each element; for a whole tensor `Tensor<float, 1>`, with `import slangpy;`"

#: Broken text; line of the only error; its remedy; the text that follows it.
CASES = {
    "call": (F + "f(2.0)", 6, CALL.format("f(2.0)"), F),
    "call with semicolon": (F + "f(2.0);", 6, CALL.format("f(2.0)"), F),
    "call by name": (F + "f(x=2.0)\n", 6, CALL.format("f(x=2.0)"), F),
    "call above blank lines": (F + "f(2.0)\n\n\n", 6, CALL.format("f(2.0)"), F),
    "call above a function": ("float f(float x) { return x; }\nf(2.0)\n" + F.replace("f(", "g("), 3, CALL.format("f(2.0)"), F),
    "print": (F + "print(f(2.0))", 6, CALL.format("print(f(2.0))"), F),
    "assigned call": (F + "y = f(2.0)", 6, CALL.format("y = f(2.0)"), F),
    "undeclared": (
        "float f(float x)\n{\n    y = x * sin(x);\n    return y;\n}", 4, "write `float y = x * sin(x);`",
        "float f(float x)\n{\n    float y = x * sin(x);\n    return y;\n}",
    ),
    "undeclared vector": (
        "float3 f(float3 v)\n{\n    w = v * v;\n    return w;\n}", 4, "write `var w = v * v;`",
        "float3 f(float3 v)\n{\n    var w = v * v;\n    return w;\n}",
    ),
    # A name that no other cell of the shared session has.
    "no type": ("float f(width)\n{\n    return width * width;\n}", 2, "write its type: `float width`", F),
    "as": ("import numpy as np\n" + F, 2, PYTHON, F),
    "from": ("from math import sin\n" + F, 2, PYTHON, F),
    "module of Python": ("import numpy;\n" + F, 2, PYTHON, F),
    "if as a value": (
        "float f(float x)\n{\n    float y = if (x > 0) 1 else 0;\n    return y;\n}", 4, "write `x > 0 ? 1 : 0`",
        "float f(float x)\n{\n    float y = x > 0 ? 1 : 0;\n    return y;\n}",
    ),
    "method": ("float f(float x) { return x.sin(); }", 2, "write `sin(x)`", "float f(float x) { return sin(x); }"),
    "method with an argument": ("float f(float x) { return x.max(0.0); }", 2, "write `max(x, 0.0)`", "float f(float x) { return max(x, 0.0); }"),
    "method of a vector": ("float f(float3 v) { return v.norm(); }", 2, "write `length(v)`", "float f(float3 v) { return length(v); }"),
    "global counted": (
        "int count = 0;\nfloat f(float x) { count++; return x; }", 3, GLOBAL.format("count", "int"),
        "static int count = 0;\nfloat f(float x) { count++; return x; }",
    ),
    "global assigned": (
        "float total = 0;\nfloat f(float x) { total = x; return x; }", 3, GLOBAL.format("total", "float"),
        "static float total = 0;\nfloat f(float x) { total = x; return x; }",
    ),
    "header": ("#include <math.h>\n" + F, 2, HEADER, F),
    "header without suffix": ("#include <cmath>\n" + F, 2, HEADER, F),
    "auto result": ("auto f(float x) { return x; }", 2, "write the type of the result: `float f(float x)`", "float f(float x) { return x; }"),
    "constant reference": ("float f(const float3& v) { return v.x; }", 2, "Slang has no references: write `float3 v`", "float f(float3 v) { return v.x; }"),
    "tensor": ("tensor f(tensor x) { return x; }", 2, WHOLE, "import slangpy;\nTensor<float, 1> f(Tensor<float, 1> x) { return x; }"),
    "tensor without dimensions": (
        "import slangpy;\nfloat f(Tensor<float> x) { return x[0]; }", 3, "write `Tensor<float, 1>`, with its number of dimensions",
        "import slangpy;\nfloat f(Tensor<float, 1> x) { return x[0]; }",
    ),
    "precision": ("precision highp float;\n" + F, 2, "delete this line: Slang has no `precision`", F),
    "precision below": (F + "  precision mediump int; // GLSL\n", 6, "delete this line: Slang has no `precision`", F),
    "colour of GLSL": (
        "void f(float2 uv) { gl_FragColor = float4(uv, 0, 1); }", 2, "return the colour: `float4 f(float2 uv) { return float4(uv, 0, 1); }`",
        "float4 f(float2 uv) { return float4(uv, 0, 1); }",
    ),
    "place of GLSL": (
        "float4 f() { return float4(gl_FragCoord.xy, 0, 1); }", 2, "pass the place as a parameter: `float4 f(float2 uv) { ... }`",
        "float4 f(float2 uv) { return float4(uv, 0, 1); }",
    ),
    "constant without static": (
        "const float scale = 2.0;\n" + F, 2, "write `static const float scale = 2.0;`", "static const float scale = 2.0;\n" + F,
    ),
    "public constant without static": (
        "public const float3 a = float3(1, 2, 3);\npublic " + F, 2, "write `public static const float3 a = float3(1, 2, 3);`",
        "public static const float3 a = float3(1, 2, 3);\npublic " + F,
    ),
    "long constant without static": (
        "const float a[30] = { " + "1, " * 29 + "1 };\n" + F, 2, "write `static const`",
        "static const float a[30] = { " + "1, " * 29 + "1 };\n" + F,
    ),
    "mark with a semicolon": (
        "[Differentiable];\n" + F, 2, "delete the `;` behind it: `[Differentiable]` stands before a function", "[Differentiable]\n" + F,
    ),
    "mark of a loop with a semicolon": (
        "float f(float x)\n{\n    [MaxIters(3)]\n    ;\n    for (int i = 0; i < 3; i++) x *= x;\n    return x;\n}",
        4, "delete the `;` behind it: `[MaxIters]` stands before a loop",
        "float f(float x)\n{\n    [MaxIters(3)]\n    for (int i = 0; i < 3; i++) x *= x;\n    return x;\n}",
    ),
    "mark at another place": ("struct S { [Differentiable] float a; };\n" + F, 2, "", F),
    "vector of a shorter one": (
        "float3 f(float2 p) { return float3(p.xy); }", 2, "write `float3(p.xy, 0.0)`", "float3 f(float2 p) { return float3(p.xy, 0.0); }",
    ),
    "vector of a much shorter one": (
        "int4 f(int2 p) { return int4( p ) + 1; }", 2, "write `int4(p, 0, 0)`", "int4 f(int2 p) { return int4(p, 0, 0) + 1; }",
    ),
    "vector of a longer one": (
        "float2 f(float3 p) { return float2(p.x, p); }", 2, "write `.x` for one component, or `length(v)` or `dot(a, b)` for one number; or let the function return float3",
        "float2 f(float3 p) { return float2(p.x, p.x); }",
    ),
    "for in": (
        "float f(float x)\n{\n    float s = 0;\n    for i in range(3)\n        s += x;\n    return s;\n}", 5, FOR,
        "float f(float x)\n{\n    float s = 0;\n    for (int i = 0; i < 3; i++)\n        s += x;\n    return s;\n}",
    ),
    "for in with a colon": (
        "float f(float x)\n{\n    float s = 0;\n    for i in range(3):\n        s += x;\n    return s;\n}", 5, FOR,
        "float f(float x)\n{\n    float s = 0;\n    for (int i = 0; i < 3; i++)\n        s += x;\n    return s;\n}",
    ),
    "power of a sum": ("float f(float x) { return (x + 1) ** 2; }", 2, "write `(x + 1) * (x + 1)` instead of `(x + 1) ** 2`", "float f(float x) { return (x + 1) * (x + 1); }"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_error_with_its_remedy(session: Any, name: str) -> None:
    broken, line, remedy, fixed = CASES[name]
    with pytest.raises(sn.CompileError) as caught:
        session.compile(broken, label="In[3]", first_line=2)
    assert [(d.line, d.remedy) for d in caught.value.diagnostics] == [(line, remedy)]
    assert session.compile(fixed)["f"]


def test_two_mistakes_are_two_errors(session: Any) -> None:
    with pytest.raises(sn.CompileError) as caught:
        session.compile("float f(float x) { return x ** 2; }\nfloat g(float x) { z = x; return z + mix(x, x, x); }")
    assert [(d.line, d.remedy) for d in caught.value.diagnostics] == [
        (1, "write `x * x` instead of `x ** 2`"),
        (2, "write `float z = x;`"),
        (2, "write `lerp(a, b, t)`"),
    ]


MACROS = "#define MAKE(n) float n(float x) { return x; }\nMAKE(f)\n"


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        (f"{MACROS}float h(float x) {{ return f(x) + ; }}", 4, "write what follows `+`, or delete it"),
        (f"{MACROS}float h(float x) {{ return x }}", 4, "write `;` after `x`"),
        ("float f(float x)\n{\n    float y = x\n    return y ** 2;\n}", 4, "write `;` at the end of line 4"),
        (
            "int f(int x)\n{\n    return x // 2;\n}",
            4,
            "write `/`, which divides ints without a rest; for floats `floor(x / y)`",
        ),
    ],
)
def test_other_mistakes_beside_a_habit(session: Any, text: str, line: int, remedy: str) -> None:
    with pytest.raises(sn.CompileError) as caught:
        session.compile(text, label="In[3]", first_line=2)
    first = caught.value.diagnostics[0]
    assert (first.line, first.remedy) == (line, remedy)


def test_a_list_in_parentheses_is_warned_of_once(session: Any) -> None:
    session.take_warnings()
    session.compile("float3 f(float x) { return (x, 2 * x, 3); }", warn=False)
    (d,) = session.take_warnings()
    assert d.remedy == "only the last value counts: write `float3(x, 2 * x, 3)` to keep all"


def test_slangs_own_files_are_not_shown(session: Any) -> None:
    with pytest.raises(sn.CompileError) as caught:
        session.compile("float f(float x) { return atan2(x, 0, 1); }")
    (d,) = caught.value.diagnostics
    assert d.remedy == "it takes 2 arguments: write `atan2(y, x)`" and d.notes == ()


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("return 3 * x ** 2;", "write `x * x` instead of `x ** 2`"),
        ("a.b[i] ** 3.0", "write `a.b[i] * a.b[i] * a.b[i]` instead of `a.b[i] ** 3.0`"),
        ("sin(x) ^ 2", "write `sin(x) * sin(x)` instead of `sin(x) ^ 2`"),
        ("x ** n", "write `pow(x, n)` instead of `x ** n`"),
        ("x ** 9", "write `pow(x, 9)` instead of `x ** 9`"),
        ("f(g(x)) ** 2", ""),
    ],
)
def test_powers_as_products(line: str, remedy: str) -> None:
    assert instead(line) == remedy


def powers(expression: str) -> list[str]:
    return [d.remedy for d in lint(Source(f"[Differentiable]\nfloat f(float x, float3 v) {{ return {expression}; }}"))]


def test_pow_loses_the_derivative_of_negative_bases(session: Any) -> None:
    m = session.compile("[Differentiable] float f(float x) { return pow(x, 2); }", warn=False)
    (d,) = session.take_warnings()
    assert d.message == (
        "the derivative of `pow(x, 2)` is 0 where the base is negative, and in forward mode its value is 0 too."
    )
    assert d.remedy == "write `x * x`"
    import slangpy as spy

    x = spy.Tensor.from_numpy(session.device, np.array([-3.0], np.float32)).with_grads(zero=True)
    y = m.f.slangpy(x, _result="tensor").with_grads()
    y.grad.copy_from_numpy(np.ones(1, np.float32))
    m.f.slangpy.bwds(x, _result=y)  # without our checks, which refuse it
    assert (y.to_numpy().tolist(), x.grad.to_numpy().tolist()) == ([9.0], [0.0])
    right = session.compile("[Differentiable] float f(float x) { return x * x; }", warn=False)
    assert sn.grad(right.f, "x")(-3.0) == -6.0 and session.take_warnings() == []


def test_lint_of_powers() -> None:
    assert powers("pow(x + 1, 3.0f)") == ["write `(x + 1) * (x + 1) * (x + 1)`"]
    assert powers("pow(x, -2)") == ["write `1.0 / (x * x)`"]
    assert powers("pow(abs(x) - 1, 2)") == ["write `(abs(x) - 1) * (abs(x) - 1)`"]
    assert powers("dot(pow(v, 2), v)") == ["write `v * v`"]


@pytest.mark.parametrize(
    "base",
    [
        "abs(x)",
        "2.0",
        "length(v)",
        "dot(v, v)",
        "exp(x)",
        "max(x, 0.0)",
        "max(x, 1e-4)",
        "max(v, float3(0)).x",
        "clamp(x, 0, 1)",
        "saturate(1 - x)",
        "1 - saturate(x)",
        "1.0 - saturate(v).x",
        "abs(x) + 1",
        "x * x",
        "EPS",
        "1e-3",
    ],
)
def test_lint_knows_bases_that_are_never_negative(base: str) -> None:
    assert powers(f"pow({base}, 5)") == []


@pytest.mark.parametrize(
    ("local", "base", "warned"),
    [
        ("float nh = max(dot(v, v), 0.0);", "nh", False),
        ("float vh = saturate(dot(v, v));", "1 - vh", False),
        ("float c = clamp(1 - dot(v, v), 0.0, 1.0), d = 2;", "c", False),
        ("let c = max(1 - x, 0.0);", "c", False),
        ("float a = abs(x); float b = a;", "b", False),
        ("float c = saturate(x); c -= 1;", "c", True),
        ("float c = saturate(x); c = x;", "c", True),
        ("float c = saturate(x); c--;", "c", True),
        ("float c = x;", "c", True),
        ("float c = c;", "c", True),
        ("float vh = x;", "1 - vh", True),
        ("float c = 1 - x;", "c", True),
        ("if (x > 0) { float c = abs(x); } float c = x;", "c", True),
    ],
)
def test_lint_reads_what_a_local_base_was_set_to(local: str, base: str, warned: bool) -> None:
    text = f"[Differentiable] float f(float x, float3 v) {{ {local} return pow({base}, 5.0); }}"
    assert bool(lint(Source(text))) is warned


@pytest.mark.parametrize(
    "text",
    [
        "float f(float x) { return pow(x, 2); }",
        "[Differentiable] float f(float x) { return pow(x, 2.5); }",
        "[Differentiable] float f(float x) { return detach(pow(x, 2)); }",
        "float pow(float x, int n) { return x; }\n[Differentiable] float f(float x) { return pow(x, 2); }",
    ],
)
def test_lint_says_nothing_of_other_powers(text: str) -> None:
    assert lint(Source(text)) == ()
