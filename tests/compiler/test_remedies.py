# ruff: noqa: E501
# Long lines here are texts as the compiler or a person writes them.

"""Remedies on the real compiler's messages: each broken text gives its remedy, and the text that follows it compiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from slangnb.compiler.advice.crash import crash_hint
from slangnb.compiler.advice.lint import PRINTING, lint
from slangnb.compiler.advice.remedies import with_remedies
from slangnb.compiler.advice.vocabulary import BUILTINS, CALLS, CUDA, INSTEAD, SLANGPY_TYPES
from slangnb.compiler.diagnostics import parse
from slangnb.compiler.graph import Known
from slangnb.compiler.source import Source, content_hash, module_text
from slangnb.devices.log import Messages, captured_log
from slangnb.errors import Diagnostic


@pytest.fixture(scope="module")
def device() -> Iterator[Any]:
    spy = pytest.importorskip("slangpy")
    made = spy.Device(
        type=spy.DeviceType.automatic,
        enable_hot_reload=False,
        compiler_options={"include_paths": [spy.SHADER_PATH]},
    )
    yield made
    made.close()


@pytest.fixture
def log() -> Iterator[Messages]:
    """What SlangPy logs, kept off the console."""
    with captured_log() as said:
        yield said


def compiled(device: Any, text: str, known: Known | None = None) -> tuple[Diagnostic, ...]:
    """Compile a cell and give its diagnostics with remedies; none when it compiles."""
    import slangpy as spy

    source = Source(text, "In[3]", 2, (("SIZE", "4"),))
    name = f"m_{content_hash(text)}"
    try:
        device.load_module_from_source(name, module_text(source, name, text))
    except spy.SlangCompileError as error:
        sources = {name: source}
        return with_remedies(parse(str(error), sources), sources, known)
    return ()


DIFF = "[Differentiable]\n"

#: Broken text; line and word of the first diagnostic; its remedy; the text that follows the remedy.
CASES: dict[str, tuple[str, int, str, str, str]] = {
    "loop without a limit": (
        DIFF + "float f(float x, no_diff int n)\n{\n    for (int i = 0; i < n; i++) x *= x;\n    return x;\n}",
        5, "for", "write `[MaxIters(64)]` on the line above this loop, with the largest number of rounds for 64",
        DIFF + "float f(float x, no_diff int n)\n{\n    [MaxIters(64)]\n    for (int i = 0; i < n; i++) x *= x;\n    return x;\n}",
    ),
    "loop over a shape": (
        "import slangpy;\n" + DIFF + "float f(IDiffTensor<float, 1> w)\n{\n    float s = 0;\n    for (int i = 0; i < w.shape[0]; i++) s += w[i];\n    return s;\n}",
        7, "for",
        "write `[MaxIters(64)]` on the line above this loop, with the largest number of rounds for 64. Write `int n = w.shape[0];` above it and compare with `n`",
        "import slangpy;\n" + DIFF + "float f(IDiffTensor<float, 1> w)\n{\n    float s = 0;\n    int n = w.shape[0];\n    [MaxIters(64)]\n    for (int i = 0; i < n; i++) s += w[i];\n    return s;\n}",
    ),
    "bwd_diff of a plain function": (
        "float g(float x) { return x * x; }\nfloat f(float x) { var p = diffPair(x); bwd_diff(g)(p, 1.0); return p.d; }",
        3, "bwd_diff", "write `[Differentiable]` on the line above `g`, at line 2",
        DIFF + "float g(float x) { return x * x; }\nfloat f(float x) { var p = diffPair(x); bwd_diff(g)(p, 1.0); return p.d; }",
    ),
    "callee without derivative": (
        "float g(float x) { return x; }\n" + DIFF + "float f(float x) { return g(x); }",
        4, "(", "write `[Differentiable]` on the line above `g` (line 2), or `no_diff g(...)` here if its derivative is not wanted",
        "float g(float x) { return x; }\n" + DIFF + "float f(float x) { return no_diff g(x); }",
    ),
    "method without derivative": (
        "struct A\n{\n    float k;\n    float e(float x) { return x; }\n}\n" + DIFF + "float f(float x) { A a; a.k = 1; return a.e(x); }",
        8, "(", "write `[Differentiable]` on the line above `e` (line 5), or `no_diff e(...)` here if its derivative is not wanted",
        "struct A\n{\n    float k;\n    [Differentiable]\n    float e(float x) { return x; }\n}\n" + DIFF + "float f(float x) { A a; a.k = 1; return a.e(x); }",
    ),
    "tensor type without its module": (
        "float f(IDiffTensor<float, 1> x) { return x[0]; }",
        2, "IDiffTensor", "write `import slangpy;` at the top of the cell",
        "import slangpy;\nfloat f(IDiffTensor<float, 1> x) { return x[0]; }",
    ),
    "own name misspelt": (
        "float weight(float x) { return x; }\nfloat f(float x) { return wieght(x); }",
        3, "wieght", "did you mean `weight`?",
        "float weight(float x) { return x; }\nfloat f(float x) { return weight(x); }",
    ),
    "built-in misspelt inside a function like it": ("float sin2(float x) { return sinn(x); }", 2, "sinn", "did you mean `sin`?", "float sin2(float x) { return sin(x); }"),
    "keyword misspelt": ("float f(float x) { retrun x; }", 2, "retrun", "did you mean `return`?", "float f(float x) { return x; }"),
    "name like a keyword": (
        "float f(float x) { return bark; }",
        2, "bark", "declare `bark`, or import the module that has it",
        "static const float bark = 1;\nfloat f(float x) { return bark; }",
    ),
    "name like the function around it": (
        "float thrice(float x) { return twice(x) + x; }",
        2, "twice", "declare `twice`, or import the module that has it",
        "float twice(float x) { return 2 * x; }\nfloat thrice(float x) { return twice(x) + x; }",
    ),
    "parameter without its type": ("float f(float x, y) { return x; }", 2, "y", "write its type: `float y`", "float f(float x, float y) { return x; }"),
    "local name misspelt behind a tab and other letters": (
        "float f(float x)\n{\n\tfloat größe = x;\n\treturn /* é😀 */\tgrösse;\n}",
        5, "grösse", "did you mean `größe`?",
        "float f(float x)\n{\n\tfloat größe = x;\n\treturn größe;\n}",
    ),
    "built-in misspelt": (
        "float f(float3 v) { return lenght(v); }",
        2, "lenght", "did you mean `length`?",
        "float f(float3 v) { return length(v); }",
    ),
    "numpy prefix": (
        "float f(float x) { return np.maximum(x, 0); }",
        2, "np", "write `max(a, b)`",
        "float f(float x) { return max(x, 0); }",
    ),
    "math prefix": ("float f(float x) { return math.sin(x); }", 2, "math", "write `sin` without `math.`", "float f(float x) { return sin(x); }"),
    "pi": (
        "float f(float x) { return x * M_PI; }",
        2, "M_PI", "write `static const float M_PI = 3.14159265;` at the top of the cell",
        "static const float M_PI = 3.14159265;\nfloat f(float x) { return x * M_PI; }",
    ),
    "vec3": ("float f(vec3 v) { return v.x; }", 2, "vec3", "write `float3`", "float f(float3 v) { return v.x; }"),
    "mat4": ("float f(mat4 m) { return m[0][0]; }", 2, "mat4", "write `float4x4`", "float f(float4x4 m) { return m[0][0]; }"),
    "mix": ("float f(float x) { return mix(x, 1.0, 0.5); }", 2, "mix", "write `lerp(a, b, t)`", "float f(float x) { return lerp(x, 1.0, 0.5); }"),
    "mod": (
        "float f(float x) { return mod(x, 2.0); }",
        2, "mod", "write `fmod(a, b)`; for GLSL's sign rule `a - b * floor(a / b)`",
        "float f(float x) { return fmod(x, 2.0); }",
    ),
    "atan of two": ("float f(float x) { return atan(x, 2.0); }", 2, "(", "write `atan2(y, x)`", "float f(float x) { return atan2(x, 2.0); }"),
    "None": (
        "float f(float x) { return None; }",
        2, "None", "Slang has no None; return a number, or `none` for an `Optional<T>`",
        "Optional<float> f(float x) { return none; }",
    ),
    "True": ("bool f(float x) { return True; }", 2, "True", "write `true`", "bool f(float x) { return true; }"),
    "def": (
        "def f(x):\n    return x * x",
        3, "x", "write the types and braces: `float f(float x) { return x * x; }` instead of `def f(x):`",
        "float f(float x) { return x * x; }",
    ),
    "power operator": ("float f(float x) { return x**2; }", 2, "2", "write `x * x` instead of `x**2`", "float f(float x) { return x * x; }"),
    "and": (
        "float f(float x) { if (x > 0 and x < 1) return 1; return 0; }",
        2, "and", "write `&&` instead of `and`",
        "float f(float x) { if (x > 0 && x < 1) return 1; return 0; }",
    ),
    "self": ("struct A { float x; float g() { return self.x; } }", 2, "self", "write `this`, or the field's name alone", "struct A { float x; float g() { return this.x; } }"),
    "reference": (
        "void f(float& y) { y = 1; }",
        2, "y", "Slang has no references: write `float y`, or `inout float y` to change it",
        "void f(inout float y) { y = 1; }",
    ),
    "enum case alone": (
        "enum E { P, Q }\nfloat f(E e) { return e == P ? 1 : 0; }",
        3, "P", "write `E.P`",
        "enum E { P, Q }\nfloat f(E e) { return e == E.P ? 1 : 0; }",
    ),
    "print without its module": (
        'void f(float x) { print("x={}", x); }',
        2, "print", 'write `import sgl.device.print;` at the top, then `print("x={}", x);`',
        'import sgl.device.print;\nvoid f(float x) { print("x={}", x); }',
    ),
    "a cell's name misspelt": ("import brfd;\nfloat f(float x) { return x; }", 2, "brfd", "did you mean `import brdf;`?", "float f(float x) { return x; }"),
    "a module that is nowhere": (
        "import nothere;\nfloat f(float x) { return x; }",
        2, "nothere",
        "name the cell that has it `%%slang nothere` and run it first; for a file nothere.slang, name its folder: `%%slang -I DIR`",
        "float f(float x) { return x; }",
    ),
    "a header that is nowhere": (
        '#include "nothere.h"\nfloat f(float x) { return x; }',
        2, '"nothere.h"', "put the file beside the notebook, or name its folder: `%%slang -I DIR` with `nothere.h` in DIR",
        "float f(float x) { return x; }",
    ),
    "missing semicolon": (
        "float f(float x)\n{\n    float y = x * 2 // twice\n\n    // and back\n    return y;\n}",
        4, "", "write `;` at the end of line 4",
        "float f(float x)\n{\n    float y = x * 2; // twice\n\n    // and back\n    return y;\n}",
    ),
    "missing semicolon before a brace": ("float f(float x) { return x }", 2, "}", "write `;` after `x`", "float f(float x) { return x; }"),
    "missing semicolon of a field": ("struct A { float x }\nfloat f(A a) { return a.x; }", 2, "}", "write `;` after `x`", "struct A { float x; }\nfloat f(A a) { return a.x; }"),
    "missing semicolon of a struct": ("struct A { float x; } float f(A a) { return a.x; }", 2, "f", "write `;` after the closing brace of the struct", "struct A { float x; }; float f(A a) { return a.x; }"),
    "missing semicolon of a struct, public": ("struct A { float x() { return 1; } } public float f(float x) { return x; }", 2, "float", "write `;` after the closing brace of the struct", "struct A { float x() { return 1; } }; public float f(float x) { return x; }"),
    "missing semicolon of a struct, attribute": ("struct A { float x; } " + DIFF + "float f(float x) { return x; }", 2, "[", "write `;` after the closing brace of the struct", "struct A { float x; }; " + DIFF + "float f(float x) { return x; }"),
    "missing semicolon of an enum": ("enum E { A, B } [Differentiable] float f(float x) { return x; }", 2, "[", "write `;` after the closing brace of the enum", "enum E { A, B }; [Differentiable] float f(float x) { return x; }"),
    "missing semicolon before a statement": (
        "float f(float x) { x = x + 1 return x; }", 2, "return", "write `;` after `1`", "float f(float x) { x = x + 1; return x; }",
    ),
    "missing semicolon before an assignment": ("float f(float x) { x = 2.0 x += 1; return x; }", 2, "x", "write `;` after `2.0`", "float f(float x) { x = 2.0; x += 1; return x; }"),
    "Python's choice": ("float f(float x) { return x if x > 0 else 0; }", 2, "if", "write `x > 0 ? x : 0`", "float f(float x) { return x > 0 ? x : 0; }"),
    "else of nothing": (
        "float f(float x) { float y = x if x > 0 else 0; return y; }", 2, "if", "write `x > 0 ? x : 0`", "float f(float x) { float y = x > 0 ? x : 0; return y; }",
    ),
    "Python's import": ("from slangpy import Tensor;\nfloat f(float x) { return x; }", 2, "import", "write `import slangpy;`", "import slangpy;\nfloat f(float x) { return x; }"),
    "call without brackets": ("float f(float x) { return abs x; }", 2, "x", "write `abs(x)`", "float f(float x) { return abs(x); }"),
    "Python's body": (
        "float f(float x): return x", 2, "x", "write the body in braces: `float f(float x) { return x; }`", "float f(float x) { return x; }",
    ),
    "Python's body on a line of its own": (
        "float f(float x):\n    return x", 3, "x", "write the body in braces: `float f(float x) { return x; }`", "float f(float x) { return x; }",
    ),
    "no braces": ("float f(float x)\n    return x;", 3, "return", "write the body in braces: `{ ... }`", "float f(float x)\n{ return x; }"),
    "types behind the names": ("f(x: float) -> float { return x; }", 2, ":", "write `func f(x: float) -> float`", "func f(x: float) -> float { return x; }"),
    "Rust's function": ("fn f(x: float) -> float { return x; }", 2, "->", "write `func f(x: float) -> float`", "func f(x: float) -> float { return x; }"),
    "Rust's word": (
        "fn f(float x) { return x; }",
        2, "fn", "write `func f(x: float) -> float`, or the result type instead of `fn`: `float f(float x)`",
        "float f(float x) { return x; }",
    ),
    "arguments of a built-in": ("float f(float x) { return tan(x, 2); }", 2, "(", "it takes 1 argument: write `tan(x)`", "float f(float x) { return tan(x); }"),
    "arguments of lerp": ("float f(float x) { return lerp(x, x); }", 2, "(", "it takes 3 arguments: write `lerp(a, b, t)`", "float f(float x) { return lerp(x, x, x); }"),
    "numbers of a vector": (
        "float3 f(float x) { return float3(x, x); }",
        2, "(", "give 3 numbers in all, as in `float3(x, y, z)`, or one for all: `float3(x)`",
        "float3 f(float x) { return float3(x); }",
    ),
    "numbers of a matrix": (
        "float2x2 f(float x) { return float2x2(x, x, x); }", 2, "(", "give 4 numbers, or 2 rows that are each a `float2`", "float2x2 f(float x) { return float2x2(float2(x), float2(x)); }",
    ),
    "vectors of two sizes": (
        "float f(float3 a, float2 b) { return dot(a, b); }",
        2, "(", "its vectors must be of one size: write `.xy` behind the longer one, or `float3(v, 0)` for the shorter one",
        "float f(float3 a, float2 b) { return dot(a.xy, b) + dot(a, float3(b, 0)); }",
    ),
    "suffix of a number": ("double f(double x) { return 3.0d * x; }", 2, "3.0d", "write `3.0`, or `3.0l` for a double", "double f(double x) { return 3.0 * x + 3.0l; }"),
    "missing operand": ("float f(float x) { return x + ; }", 2, ";", "write what follows `+`, or delete it", "float f(float x) { return x; }"),
    "list in brackets": (
        "float f(float x) { float a[3] = [1, 2, 3]; return a[0]; }",
        2, "[", "write a list in braces: `{1, 2, 3}`",
        "float f(float x) { float a[3] = {1, 2, 3}; return a[0]; }",
    ),
    "member misspelt": (
        "struct Ray { float3 origin; float3 direction; }\nfloat f(Ray r) { return r.orign.x; }",
        3, "orign", "did you mean `.origin`?",
        "struct Ray { float3 origin; float3 direction; }\nfloat f(Ray r) { return r.origin.x; }",
    ),
    "component that is not there": (
        "float f(float3 v) { return v.w; }",
        2, "w", "a float3 has `.x`, `.y`, `.z`; `length(v)` and `dot(a, b)` are functions",
        "float f(float3 v) { return v.z; }",
    ),
    "pair member": ("float f(DifferentialPair<float> x) { return x.primal; }", 2, "primal", "write `.p`", "float f(DifferentialPair<float> x) { return x.p; }"),
    "vector for a number": (
        "float f(float3 v) { return v; }",
        2, "v", "write `.x` for one component, or `length(v)` or `dot(a, b)` for one number; or let the function return float3",
        "float f(float3 v) { return length(v); }",
    ),
    "short vector": ("float3 f(float2 v) { return v; }", 2, "v", "write `float3(v, 0)`", "float3 f(float2 v) { return float3(v, 0); }"),
    "vector of bools": (
        "float f(float3 a, float3 b) { if (a < b) return 1; return 0; }",
        2, "<", "write `all(...)` or `any(...)` around the comparison",
        "float f(float3 a, float3 b) { if (all(a < b)) return 1; return 0; }",
    ),
    "matrix product": ("float3 f(float3x3 m, float3 v) { return m * v; }", 2, "*", "write `mul(a, b)` for products with a matrix", "float3 f(float3x3 m, float3 v) { return mul(m, v); }"),
    "no pair": (
        DIFF + "float g(float a) { return a * a; }\nvoid f(float a) { bwd_diff(g)(a, 1.0); }",
        4, "a", "make a pair of the value first: `var p = diffPair(x);`, and pass `p`",
        DIFF + "float g(float a) { return a * a; }\nvoid f(float a) { var p = diffPair(a); bwd_diff(g)(p, 1.0); }",
    ),
    "pair that is no variable": (
        DIFF + "float g(float a) { return a * a; }\nvoid f(float a) { bwd_diff(g)(diffPair(a), 1.0); }",
        4, "(", "store the argument in a variable first, such as `var p = diffPair(x);`, and pass `p`",
        DIFF + "float g(float a) { return a * a; }\nvoid f(float a) { var p = diffPair(a); bwd_diff(g)(p, 1.0); }",
    ),
    "struct without derivative in a pair": (
        "struct A { float x; }\nvoid f(A a) { var p = diffPair(a); }",
        3, "(", "write `struct A : IDifferentiable`",
        "struct A : IDifferentiable { float x; }\nvoid f(A a) { var p = diffPair(a); }",
    ),
    "struct without derivative on the left": (
        "struct Q { float3 p; }\n" + DIFF + "float h(float x) { Q q; q.p = float3(x, x, x); return q.p.x; }",
        4, "=", "write `struct Q : IDifferentiable`, or `detach(...)` around the right side if no derivative is wanted",
        "struct Q : IDifferentiable { float3 p; }\n" + DIFF + "float h(float x) { Q q; q.p = float3(x, x, x); return q.p.x; }",
    ),
    "builtin without derivative that is wanted": (
        DIFF + "float f(float x) { return smoothstep(0.0, 2.0, x); }",
        3, "(", "Slang's `smoothstep` has no derivative: write `t * t * (3 - 2 * t)` with `t = saturate((x - lo) / (hi - lo))`, or `no_diff smoothstep(...)` where none is wanted",
        DIFF + "float f(float x) { float t = saturate((x - 0.0) / (2.0 - 0.0)); return t * t * (3 - 2 * t); }",
    ),
    "builtin whose derivative is 0": (
        DIFF + "float f(float x) { return x - rint(x); }",
        3, "(", "Slang's `rint` has no derivative: write `no_diff rint(...)` where none is wanted",
        DIFF + "float f(float x) { return x - no_diff rint(x); }",
    ),
    "no_diff of a value": (
        DIFF + "float f(float x) { return no_diff(x); }",
        3, "no_diff", "write `detach(x)` for a value; `no_diff f(x)` calls a function that has no derivative",
        DIFF + "float f(float x) { return detach(x); }",
    ),
    "interface with a derivative": (
        "interface IF { [Differentiable] float e(float x); }\nstruct A : IF { float e(float x) { return x; } }",
        3, "e", "write `[Differentiable]` before `e` in the struct",
        "interface IF { [Differentiable] float e(float x); }\nstruct A : IF { [Differentiable] float e(float x) { return x; } }",
    ),
    "interface not fulfilled": (
        "interface IShape { float area(); }\nstruct Sq : IShape { float s; }",
        3, "IShape", "add `area` to `Sq`, with the signature of the interface",
        "interface IShape { float area(); }\nstruct Sq : IShape { float s; float area() { return s; } }",
    ),
    "run-time MaxIters": (
        DIFF + "float h(float x, no_diff int n) { float y = x; [MaxIters(n)] for (int i = 0; i < n; i++) y *= 2; return y; }",
        3, "n", "write a number that is large enough: `[MaxIters(64)]`",
        DIFF + "float h(float x, no_diff int n) { float y = x; [MaxIters(64)] for (int i = 0; i < n; i++) y *= 2; return y; }",
    ),
    "same function twice": (
        "float f(float x) { return x; }\nfloat f(float x) { return x; }",
        3, "f", "rename one of them, or delete the other `f` at line 2",
        "float f(float x) { return x; }",
    ),
    "too many arguments": (
        "float g(float a) { return a; }\nfloat f(float x) { return g(x, x); }",
        3, "(", "it is declared as `float g(float a)`",
        "float g(float a) { return a; }\nfloat f(float x) { return g(x); }",
    ),
    "not enough arguments": (
        "float g(float a, int n) { return a; }\nfloat f(float x) { return g(x); }",
        3, "(", "it is declared as `float g(float a, int n)`",
        "float g(float a, int n) { return a; }\nfloat f(float x) { return g(x, 1); }",
    ),
    "two indices on one axis": (
        "import slangpy;\nfloat f(Tensor<float, 1> t, int i) { return t[i, i]; }",
        3, "[", "give 1 index, one for each axis",
        "import slangpy;\nfloat f(Tensor<float, 1> t, int i) { return t[i]; }",
    ),
    "an index in brackets of its own": (
        "import slangpy;\nfloat f(IDiffTensor<float, 2> w) { return w[0][1]; }",
        3, "[", "write `w[0, 1]`",
        "import slangpy;\nfloat f(IDiffTensor<float, 2> w) { return w[0, 1]; }",
    ),
    "three indices in brackets of their own": (
        "import slangpy;\nTensor<float, 3> w;\nfloat f(int a[2], int i) { return w[a[0]][i + 1][0]; }",
        4, "[", "write `w[a[0], i + 1, 0]`",
        "import slangpy;\nTensor<float, 3> w;\nfloat f(int a[2], int i) { return w[a[0], i + 1, 0]; }",
    ),
    "two indices in brackets for three axes": (
        "import slangpy;\nfloat f(Tensor<float, 3> w) { return w[0][1]; }",
        3, "[", "",
        "import slangpy;\nfloat f(Tensor<float, 3> w) { return w[0, 1, 0]; }",
    ),
    "unknown directive": ("#defin N 3\nfloat f(float x) { return x; }", 2, "defin", "did you mean `#define`?", "#define N 3\nfloat f(float x) { return x; }"),
    "hash comment": (
        "#comment\nfloat f(float x) { return x; }",
        2, "comment", "start a comment with `//`; `#` starts a preprocessor line",
        "// comment\nfloat f(float x) { return x; }",
    ),
    "power with a hat": ("float f(float x) { return x ^ 2; }", 2, "^", "write `x * x` instead of `x ^ 2`", "float f(float x) { return x * x; }"),
    "assigned constant": ("float f(float x) { let y = x; y = 2; return y; }", 2, "=", "declare it with `var y` instead of `let`", "float f(float x) { var y = x; y = 2; return y; }"),
    "counted constant": (
        "float f(float x) { let w = x; w += 1; return w; }", 2, "w", "`w` is declared with `let`: write `var w`",
        "float f(float x) { var w = x; w += 1; return w; }",
    ),
    "component of a constant": (
        "float f(float2 p) { let w = p; w.x *= 2; return w.x; }", 2, "x", "`w` is declared with `let`: write `var w`",
        "float f(float2 p) { var w = p; w.x *= 2; return w.x; }",
    ),
    "loop with let": (
        "float f(float x) { for (let i = 0; i < 3; i++) x += 1; return x; }", 2, "i", "`i` is declared with `let`: write `int i`",
        "float f(float x) { for (int i = 0; i < 3; i++) x += 1; return x; }",
    ),
    "loop over a float with let": (
        "float f(float x) { for (let i = x; i < 3; ++i) x += 1; return x; }", 2, "i", "`i` is declared with `let`: write `var i`",
        "float f(float x) { for (var i = x; i < 3; ++i) x += 1; return x; }",
    ),
    "counted parameter": (
        "float f(const float x) { x += 1; return x; }", 2, "x", "it is constant: copy it to a variable first, or drop `const`",
        "float f(float x) { x += 1; return x; }",
    ),
    "printed without text": (
        "import sgl.device.print;\nvoid f(float x) { print(x); }", 3, "x", 'write `print("x={}", x);`',
        'import sgl.device.print;\nvoid f(float x) { print("x={}", x); }',
    ),
    "printed vectors without text": (
        "import sgl.device.print;\nvoid f(float3 v) { print(v * 2, max(v.x, v.y)); }", 3, "*", 'write `print("{} {}", v * 2, max(v.x, v.y));`',
        'import sgl.device.print;\nvoid f(float3 v) { print("{} {}", v * 2, max(v.x, v.y)); }',
    ),
    "written tensor": (
        "import slangpy;\nvoid f(Tensor<float, 1> t) { t[0] = 1; }",
        3, "=", "declare `t` as `RWTensor<...>` to write to it",
        "import slangpy;\nvoid f(RWTensor<float, 1> t) { t[0] = 1; }",
    ),
    "written tensor with derivative": (
        "import slangpy;\nvoid f(IDiffTensor<float, 1> t) { t[0] = 1; }",
        3, "=", "declare `t` as `IRWDiffTensor<...>` to write to it",
        "import slangpy;\nvoid f(IRWDiffTensor<float, 1> t) { t[0] = 1; }",
    ),
    "assignment in a condition": ("float f(float x) { if (x = 1) return 1; return 0; }", 2, "=", "write `==` to compare", "float f(float x) { if (x == 1) return 1; return 0; }"),
    "generic without arithmetic": (
        "T f<T>(T a, T b) { return a * b; }",
        2, "*", "say that the type has arithmetic: `<T : IFloat>`",
        "T f<T : IFloat>(T a, T b) { return a * b; }",
    ),
    "C++ template": (
        "template<typename T> T f(T x) { return x; }",
        2, "", "write `T f<T>(T x)` instead of `template<typename T> T f(T x)`",
        "T f<T>(T x) { return x; }",
    ),
    "pair by its type": (
        "float f(float x) { var p = DifferentialPair(x); return p.p; }",
        2, "(", "write `diffPair(x)` or `diffPair(x, dx)`",
        "float f(float x) { var p = diffPair(x); return p.p; }",
    ),
    "custom derivative": (
        "[BackwardDerivative(bf)] float f(float x) { return x; }\nvoid bf(float x, float g) { }",
        2, "BackwardDerivative", "",
        "[BackwardDerivative(bf)] float f(float x) { return x; }\nvoid bf(inout DifferentialPair<float> x, float g) { }",
    ),
    "second backward": (
        DIFF + "float g(float x) { return x * x; }\nvoid f(float x) { bwd_diff(bwd_diff(g))(x); }",
        4, "(",
        "`bwd_diff` cannot be derived once more: for second derivatives use `sn.hvp` in Python, or `fwd_diff` in a [Differentiable] function",
        DIFF + "float g(float x) { return x * x; }\n" + DIFF + "float f(float x) { return fwd_diff(g)(diffPair(x, 1.0)).d; }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_remedy_of_a_compile_error(device: Any, log: Messages, name: str) -> None:
    broken, line, word, remedy, fixed = CASES[name]
    found = compiled(device, broken, known={"brdf": (), "shapes": ()})
    first = found[0]
    assert first.severity == "error"
    assert (first.file, first.line) == ("In[3]", line)
    assert first.source == broken.split("\n")[line - 2]
    if word:
        assert first.source[first.column - 1 : first.column - 1 + first.length] == word
    assert first.remedy == remedy
    assert compiled(device, fixed) == ()


def test_a_missing_semicolon_is_shown_where_it_is_missing(device: Any, log: Messages) -> None:
    (d,) = compiled(device, CASES["missing semicolon"][0])
    assert d.render() == (
        "error[E20001]: missing ';' at the end of this line.\n  --> In[3], line 4\n"
        "  4 |     float y = x * 2 // twice\n    |                    ^\n  remedy: write `;` at the end of line 4"
    )


def test_the_compilers_own_guess_gives_way(device: Any, log: Messages) -> None:
    (d,) = compiled(device, "float f(float3 a) { return len(a); }")
    assert d.notes == ()
    assert d.remedy == "write `a.getCount()` for an array, `t.shape[0]` for a tensor"


WARNINGS = {
    "conversion": ("int f(float x) { return x; }", "E30081", "x", "write `int(x)`", "int f(float x) { return int(x); }"),
    "conversion of a component": ("int f(float2 p) { int k = p.y; return k; }", "E30081", "y", "write `int(p.y)`", "int f(float2 p) { int k = int(p.y); return k; }"),
    "conversion of a member's component": (
        "struct A { float2 q; };\nint f(A a) { return a.q.y; }", "E30081", "y", "write `int(a.q.y)`",
        "struct A { float2 q; };\nint f(A a) { return int(a.q.y); }",
    ),
    "conversion of an element's component": (
        "int f(float2 a[2]) { return a[0].y; }", "E30081", "y", "write `int(...)` around the expression",
        "int f(float2 a[2]) { return int(a[0].y); }",
    ),
    "no return": (
        "float3 f(float x) { if (x > 0) return float3(1); }", "E41010", "f",
        "add a `return` for the remaining case at the end, such as `return float3(0);`",
        "float3 f(float x) { if (x > 0) return float3(1); return float3(0); }",
    ),
    "no value": (
        "float f(float x) { float y; return y + x; }", "E41016", "+",
        "give it a value where it is declared: `float y = 0;`",
        "float f(float x) { float y = 0; return y + x; }",
    ),
    "attribute": ("[Diffrentiable]\nfloat f(float x) { return x; }", "E31000", "Diffrentiable", "did you mean `[Differentiable]`?", "[Differentiable]\nfloat f(float x) { return x; }"),
    "choice": (
        "float3 f(float3 x) { return x > 0 ? x : -x; }", "E30056", "?", "write `select(condition, a, b)`",
        "float3 f(float3 x) { return select(x > 0, x, -x); }",
    ),
    "decimal comma": ("float f(float x) { return 1,5 * x; }", "E41024", ",", "write `1.5` with a point", "float f(float x) { return 1.5 * x; }"),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNINGS)
def test_the_remedy_of_a_warning(device: Any, log: Messages, name: str) -> None:
    broken, code, word, remedy, fixed = WARNINGS[name]
    assert compiled(device, broken) == ()
    module = f"m_{content_hash(broken)}"
    sources = {module: Source(broken, "In[3]", 2)}
    found = with_remedies([*parse(log.text(), sources)], sources)
    assert [(d.severity, d.code, d.remedy) for d in found] == [("warning", code, remedy)]
    assert found[0].source[found[0].column - 1 :][: found[0].length] == word
    with captured_log() as later:
        assert compiled(device, fixed) == ()
    assert not parse(later.text(), {})


def called(device: Any, text: str, *arguments: Any) -> tuple[Diagnostic, ...]:
    """Compile and call `f`, and give what the call says."""
    import slangpy as spy

    source = Source(text, "In[3]", 2)
    name = f"m_{content_hash(text)}"
    module = spy.Module(device.load_module_from_source(name, module_text(source, name, text)))
    try:
        module.f(*arguments)
    except (RuntimeError, ValueError) as error:
        return with_remedies(parse(str(error), {name: source}), {name: source})
    return ()


def test_late_errors_have_remedies_too(device: Any, log: Messages) -> None:
    (d,) = called(device, "float f(float x) { if (x > 0) return 1.0; }", 1.0)
    assert (d.code, d.line, d.column) == ("E41009", 2, 7)
    assert d.remedy == "add a `return` for the remaining case at the end, such as `return 0.0;`"
    (d,) = called(device, "float f(float x) { return x < 0 ? x : f(x - 1); }", 1.0)
    assert (d.code, d.line, d.remedy) == ("E55201", 2, "GPU code cannot call itself: write `f` as a loop")
    (d,) = called(device, "float f(float x) { float a[4]; a[4] = x; return a[0]; }", 1.0)
    assert (d.code, d.line, d.remedy) == ("E30029", 2, "the last index is 3")
    (d,) = called(device, "float f(float x);", 1.0)
    assert (d.code, d.remedy) == ("E45001", "give `f` a body, or import the module that has one")


@pytest.mark.parametrize(
    "text",
    [
        "float f(float x) { return x + cudaThreadIdx().x; }",
        "float f(float x) { TensorView<float> t; return t[0]; }",
    ],
)
def test_cuda_style_is_explained(device: Any, log: Messages, text: str) -> None:
    if "cuda" in str(device.info.type):
        pytest.skip("this backend has it")
    assert CUDA in [d.remedy for d in called(device, text, 1.0)]


def test_a_loop_with_a_literal_bound_gets_its_number() -> None:
    text = DIFF + "float f(float x)\n{\n    for (int i = 2; i < 10; i += 3) x *= x;\n    return x;\n}"
    source = Source(text, "In[3]", 2)
    d = Diagnostic("error", "E30510", "loops need attributes", "In[3]", 5, 5, 3, source.line(5))
    assert with_remedies([d], {"m": source})[0].remedy == "write `[MaxIters(3)]` on the line above this loop"


def test_names_that_break_generated_code_are_explained(device: Any, log: Messages) -> None:
    import numpy as np
    import slangpy as spy

    ones = spy.Tensor.from_numpy(device, np.ones(3, np.float32))
    found = called(device, "struct A { float value; }\nfloat f(A a) { return a.value; }", {"value": ones})
    assert found[0].remedy == "a struct's field called `value` clashes with the code that SlangPy generates: rename it"
    found = called(device, "float f(float default) { return default; }", ones)
    assert found[0].remedy == "the parameter `default` clashes with the code that SlangPy generates: rename it"


NEGATIVE = (
    DIFF
    + "float f(float x, no_diff int n)\n{\n    float s = 0;\n    [MaxIters(10)]\n    for (int i = -n; i < n; i++) s += x * x;\n    return s;\n}"
)


def test_a_loop_below_zero_fails_in_the_compiler_and_its_remedy_does_not(device: Any, log: Messages) -> None:
    import numpy as np
    import slangpy as spy

    if device.info.type != spy.DeviceType.vulkan:
        pytest.skip("the fault is in the compiler's SPIR-V part")
    fixed = NEGATIVE.replace(
        "for (int i = -n; i < n; i++) s += x * x;",
        "for (int j = 0; j < 2 * n; j++) { int i = j + (-n); s += x * x * i; }",
    )
    for text, codes in ((NEGATIVE, ["E99997"]), (fixed, [])):
        source = Source(text, "In[3]", 2)
        name = f"m_{content_hash(text)}"
        module = spy.Module(device.load_module_from_source(name, module_text(source, name, text)))
        x = spy.Tensor.from_numpy(device, np.ones(3, np.float32)).with_grads()
        value: Any = module.f(x, 3, _result="tensor")
        result = value.with_grads()
        found: tuple[Diagnostic, ...] = ()
        try:
            module.f.bwds(x, 3, _result=result)
        except RuntimeError as error:
            found = with_remedies(parse(str(error), {name: source}), {name: source})
        assert [d.code for d in found] == codes
        assert [d.line for d in found] == [7] * len(codes)


def test_an_internal_error_points_at_the_loop_below_zero() -> None:
    (d,) = with_remedies(
        [Diagnostic("error", "E99997", "internal error of the compiler: x")],
        {"m": Source(NEGATIVE, "In[3]", 2)},
    )
    assert (d.file, d.line, d.column, d.length) == ("In[3]", 7, 5, 3)
    assert (
        d.remedy
        == "start the loop at zero: `for (int j = 0; j < n; j++)` with n rounds, and inside it `int i = j + (-n);`"
    )


@pytest.mark.parametrize(("body", "said"), [("x % y", "write `fmod(x, y)`"), ("x / y; // %", "compile parts of")])
def test_an_internal_error_at_a_remainder_of_floats(body: str, said: str) -> None:
    text = DIFF + f"float f(float x, float y) {{ return {body}; \n}}"
    (d,) = with_remedies([Diagnostic("error", "E99997", "internal error of the compiler: x")], {"m": Source(text)})
    assert said in d.remedy


def test_an_array_that_the_backward_pass_cannot_keep() -> None:
    text = DIFF + "float f(float x)\n{\n    float s[1000000];\n    s[0] = x;\n    return s[0];\n}"
    said = Diagnostic("error", "E40020", "loop unrolling failed", "diff.meta.slang", 1378)
    (d,) = with_remedies([said], {"m": Source(text, "In[3]", 2)})
    assert d.render() == (
        "error[E40020]: this array is too large to be kept for the backward pass.\n  --> In[3], line 5\n"
        "  5 |     float s[1000000];\n    |           ^^^^^^^^^^\n  remedy: make it smaller, or read and write a tensor"
    )
    (d,) = with_remedies([said], {"m": Source(text.replace("1000000", "4"), "In[3]", 2)})
    assert d.remedy.startswith("[ForceUnroll] needs a small number of rounds")


def test_all_names_that_are_offered_exist(device: Any, log: Messages) -> None:
    types = {"vector", "matrix", "Array", "StructuredBuffer", "DifferentialPair"}
    keywords = {"true", "false", "none", "nullptr", "no_diff", "bwd_diff", "fwd_diff"}
    names = [n for n in BUILTINS if n not in keywords | types]
    found = compiled(device, "".join(f"typealias T_{n} = {n};\n" for n in names))
    assert [d.message for d in found if d.code == "E30015"] == []
    assert not set(INSTEAD) & set(BUILTINS)
    assert set(CALLS) <= set(BUILTINS)
    (d,) = compiled(device, "import slangpy;\ntypealias A = DiffTensro<float, 1>;")
    assert d.remedy == "declare `DiffTensro`, or import the module that has it"
    assert "RWDiffTensor" in SLANGPY_TYPES


def test_slangpy_itself_missing() -> None:
    d = Diagnostic("error", "E00001", "cannot open file 'slangpy.slang'", "In[3]", 2, 8, 7, "import slangpy;")
    assert with_remedies([d], {})[0].remedy.startswith("SlangPy's own Slang files are not found")


def test_what_is_not_known_stays_as_it_is() -> None:
    d = Diagnostic("error", "E77777", "odd", "In[3]", 2, 1, 1, "x")
    assert with_remedies([d], {}) == (d,)
    done = Diagnostic("error", "E30015", "undefined identifier 'mix'.", remedy="mine")
    assert with_remedies([done], {}) == (done,)


LINTS: dict[str, tuple[str, int, str, str]] = {
    "printf": (
        'void f(float x)\n{\n    /* é */ printf("%f", x);\n}', 4, "printf",
        'write `import sgl.device.print;` at the top and `print("x={}", x);` here',
    ),
    "printf in a differentiable function": (
        '[Differentiable] float f(float x) { printf("%f", x); return x; }', 2, "printf",
        f"write `import sgl.device.print;` at the top; {PRINTING}",
    ),
    "vector index": (
        "float f(IDiffTensor<float, 2> a, int r)\n{\n    return a[int2(r, g(1, 2))];\n}", 4, "int2(r, g(1, 2))", "write `a[r, g(1, 2)]` for row first",
    ),
    "and in a loop condition": (
        DIFF + "float f(float x, int n)\n{\n    int i = 0;\n    [MaxIters(8)] while (i < n && x < 9.0) { i++; }\n    return x;\n}", 6, "&&", "write `(i < n) & (x < 9.0)`",
    ),
    "or in a for condition": (
        DIFF + "float f(float x, int n)\n{\n    [MaxIters(8)]\n    for (int i = 0; i < n || i < 2; i++) { x *= x; }\n    return x;\n}", 6, "||", "write `(i < n) | (i < 2)`",
    ),
    "shape in a loop condition": (
        DIFF + "float f(float x, IDiffTensor<float, 2> W)\n{\n    [MaxIters(8)]\n    for (int k = 0; k < W.shape[1]; k++) { x *= x; }\n    return x;\n}", 6, "W.shape[1]",
        "write `int n = W.shape[1];` above the loop and compare with `n`",
    ),
    "fmod": (
        DIFF + "float f(float x, float y)\n{\n    return fmod(x + 1, y);\n}", 5, "fmod",
        "write `(x + 1) - y * no_diff trunc((x + 1) / y)` if that gradient matters",
    ),
    "too few rounds": (
        DIFF + "float f(float x)\n{\n    [MaxIters(5)]\n    for (int i = 0; i <= 9; ++i) { x *= x; }\n    return x;\n}", 5, "MaxIters(5)", "write `[MaxIters(10)]`",
    ),
    "whole division": ("float half_of(float x) { return 1/2 * x; }", 2, "1/2", "write `1.0/2.0`"),
    "clashing field": ("struct A { float value; }\nfloat f(A a) { return a.value; }", 2, "value", "give the field another name"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINTS)
def test_lint_warns(name: str) -> None:
    text, line, word, remedy = LINTS[name]
    (d,) = lint(Source(text, "In[3]", 2))
    assert (d.severity, d.file, d.line, d.remedy) == ("warning", "In[3]", line, remedy)
    assert d.source[d.column - 1 :][: d.length] == word


def test_too_few_rounds_may_be_enough_for_the_gradient() -> None:
    (d,) = lint(Source(LINTS["too few rounds"][0]))
    assert d.message == "the loop makes 10 rounds, more than MaxIters says: its gradient may be wrong."


@pytest.mark.parametrize(
    "text",
    [
        'void printf(float x) { }\nvoid f(float x) { printf(x); }\n// printf("x")',
        "float f(IDiffTensor<float, 2> a, RWTexture2D<float> t, int r) { return a[r, 1] + t[int2(r, 1)]; }",
        "float f(float x, int n) { int i = 0; while (i < n && x < 9) { i++; } return x; }",
        DIFF + "float f(float x) { if (x > 0 && x < 1) return fmod(x, 2.0); return 0; }",
        "static const float K = 2;\n" + DIFF + "float f(float x, no_diff float p) { return fmod(x, K) + fmod(x, p); }",
        DIFF + "float f(float x) { return fmod(x, -2.0e-1f) + fmod(x, 2.0 * 3.0) + fmod(x, float(2)); }",
        DIFF + "float f(float x, int n) { [MaxIters(10)] for (int i = 0; i < 10; i++) { x *= x; } return x; }",
        DIFF + "float f(float x, int n) { [MaxIters(1)] for (int i = 0; i < n; i++) { x *= x; } return x; }",
        "struct A { float value; }\nfloat f(float x) { A a; a.value = x; return a.value; }",
        "float f(float x) { return",
    ],
)
def test_lint_is_silent_about(text: str) -> None:
    assert lint(Source(text)) == ()


def test_what_lint_proposes_compiles(device: Any, log: Messages) -> None:
    text = (
        DIFF + "float f(float x, float y, no_diff int n)\n{\n    int i = 0;\n"
        "    [MaxIters(8)]\n    while ((i < n) & (x < 9.0)) { x *= 2; i++; }\n    return (x + 1) - y * no_diff trunc((x + 1) / y);\n}"
    )
    assert compiled(device, text) == ()
    assert lint(Source(text)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "static const float K = 2;\n" + DIFF + "float f(float x, float K) { return fmod(x, K); }",
        DIFF + "float f(float x, float y[2]) { return fmod(x, 2 * y[1]); }",
        "struct W { float period; [Differentiable] float f(float x) { return fmod(x, period); } }",
        DIFF + "float f(float2 x, float y) { return fmod(x, float2(y, 1)).x; }",
    ],
)
def test_fmod_by_what_may_have_a_gradient(text: str) -> None:
    (d,) = lint(Source(text))
    assert d.message == "the gradient of fmod to its second argument is always 0."


LOOP = "    [MaxIters(8)]\n    for (int i = 0; i < n; i++) { s += x; }\n"
HINTS: dict[str, tuple[str, str]] = {
    "and": (
        DIFF + "float f(float x, int n)\n{\n    int i = 0;\n    [MaxIters(8)]\n    while (i < n && x < 9) { i++; }\n    return x;\n}",
        "The loop condition at line 7 uses `&&`: write `(i < n) & (x < 9)`.",
    ),
    "and in a callee": (
        DIFF + "float g(float x, int n)\n{\n    [MaxIters(8)]\n    for (int i = 0; i < n || i < 2; i++) { x *= x; }\n    return x;\n}\n" + DIFF + "float f(float x, int n) { return g(x, n); }",
        "The loop condition at line 6 uses `||`: write `(i < n) | (i < 2)`.",
    ),
    "load in a branch": (
        DIFF + "float f(float x, IDiffTensor<float, 1> W)\n{\n    float s = 0;\n    if (x > 0.5)\n    {\n        s = W[0];\n    }\n    return s;\n}",
        "`W` is an IDiffTensor and is read inside the `if` at line 6: declare it as DiffTensor, or read it before the `if`.",
    ),
    "shape": (
        DIFF + "float f(float x, DiffTensor<float, 2> W)\n{\n    [MaxIters(8)]\n    for (uint k = 0; k < W.shape[1]; k++) { x *= x; }\n    return x;\n}",
        "The loop condition at line 6 reads `W.shape[1]`: write `int n = W.shape[1];` above the loop and compare with `n`.",
    ),
    "bare float in a branch": (
        DIFF + "float3 f(float p, float3 x, int n)\n{\n    float3 r = x;\n    if (n > 2)\n        r = r * p;\n    else { r += p; }\n    return r * p;\n}",
        "The scalar `p` meets a float3 inside a branch or loop (line 7, 8): write `float3(p)` for `p`.",
    ),
    "bare float under a question mark": (
        DIFF + "float2 f(float p, float3 x, bool on) { return on ? x.xy / p : x.yz; }",
        "The scalar `p` meets a float2 inside a branch or loop (line 3): write `float2(p)` for `p`.",
    ),
    "bare float behind a branch": (
        DIFF + "float3 f(float p, float3 u, float3 v)\n{\n    if (p > 0.5) u.z = v.y;\n    return u * p;\n}",
        "The scalar `p` meets a float3 behind a branch or loop (line 6): write `float3(p)` for `p`.",
    ),
    "bare float and a matrix": (
        DIFF + "float2x2 f(float p, float2x2 x, int n)\n{\n    switch (n) { case 1: x = x * p; break; default: break; }\n    return x;\n}",
        "The scalar `p` meets a float2x2 inside a branch or loop (line 5): compute that in a [Differentiable] function of its own, with `p` as a parameter.",
    ),
    "copy of an element": (
        "struct Q : IDifferentiable { float3 a; float b; }\n" + DIFF + "float f(float3 v, float s)\n{\n    Q q[2];\n    q[0].a = v; q[0].b = s;\n    q[1] = q[0];\n    return q[1].a.x * q[1].b;\n}",
        "`q[1]` is set as a whole at line 8, but `q` has elements that are set field by field: write `q[1].a = q[0].a; q[1].b = q[0].b;`.",
    ),
    "element from a call": (
        "struct Q : IDifferentiable { float a[2]; }\n" + DIFF + "Q g(float x) { Q q; q.a[0] = x; return q; }\n" + DIFF + "float f(float x)\n{\n    Q q[2];\n    q[0].a[0] = x;\n    q[1] = g(x);\n    return q[1].a[0];\n}",
        "`q[1]` is set as a whole at line 10, but `q` has elements that are set field by field: write `Q made = g(x); q[1].a = made.a;`.",
    ),
    "elements that are right": (
        "struct Q : IDifferentiable { float a; }\n" + DIFF + "float f(float x) { Q q[2], r[2]; Q t; t.a = x; q[0] = t; q[1] = q[0]; float y = q[1].a; r[0].a = x; r[1].a = y; return r[0].a; }",
        "",
    ),
    "floats that are right": (
        DIFF + "float3 f(float p, no_diff float q, float3 x, int n) { return n > 2 ? x * float3(p) * (2 * p) * q - p * p + max(x, p) * -p : x; }",
        "",
    ),
    "print": (
        DIFF + 'float f(float x)\n{\n    print("{}", x);\n    return x;\n}',
        "`f` calls `print` at line 5, and that cannot be derived: " + PRINTING + ".",
    ),
    "backward in a differentiable function": (
        DIFF + "float g(float x) { return x; }\n" + DIFF + "float f(float x)\n{\n    var p = diffPair(x);\n    bwd_diff(g)(p, 1.0);\n    return p.d;\n}",
        "`f` calls `bwd_diff` at line 8, and that cannot be derived once more: for second derivatives use `sn.hvp`, or `fwd_diff` instead.",
    ),
    "forward twice": (
        DIFF + "float g(float x) { return x; }\n" + DIFF + "float h(float x) { return fwd_diff(g)(diffPair(x, 1.0)).d; }\n" + DIFF + "float f(float x) { return fwd_diff(h)(diffPair(x, 1.0)).d; }",
        "`fwd_diff` at line 7 goes over `h`, which uses `fwd_diff` too (line 5): derive at most twice in all.",
    ),
    "unrolled": (
        DIFF + "float f(float x)\n{\n    [ForceUnroll]\n    for (int i = 0; i < 4000; i++) { x *= x; }\n    return x;\n}",
        "[ForceUnroll] at line 6 unrolls 4000 rounds: write `[MaxIters(4000)]` instead.",
    ),
    "large array": (
        DIFF + "float f(float x)\n{\n    float a[5000];\n    a[0] = x;\n    return a[0];\n}",
        "Every thread keeps the array of 5000 elements at line 5: shrink it.",
    ),
    "nothing": (DIFF + "float f(float x, int n)\n{\n    float s = 0;\n" + LOOP + "    if (x > 0) s = 1;\n    return s;\n}", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", HINTS)
def test_crash_hint(name: str) -> None:
    text, hint = HINTS[name]
    assert crash_hint(Source(text, "In[3]", 2), "f") == hint


def test_crash_hint_of_a_method_and_of_a_function_that_is_not_there() -> None:
    text = "struct A\n{\n    [Differentiable]\n    float e(float x) { print(x); return x; }\n}"
    assert crash_hint(Source(text), "A.e").startswith("`e` calls `print` at line 4")
    assert crash_hint(Source(text), "nothing") == ""
