"""What to write instead of a name that Slang does not know."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

from slangnb.compiler.declarations import Declaration, declarations
from slangnb.compiler.scan import masked

BUILTINS = tuple(
    """
    abs acos acosh all any asfloat asin asinh asint asuint atan atan2 atanh ceil clamp copysign cos cosh countbits
    cross ddx ddy degrees determinant distance dot exp exp10 exp2 fabs faceforward firstbithigh firstbitlow floor
    fma fmod frac fract frexp isfinite isinf isnan ldexp length lerp lit log log10 log2 mad max min modf mul
    normalize pow powr radians reflect refract reversebits round rsqrt saturate select sign sin sincos sinh
    smoothstep sqrt step tan tanh transpose trunc
    bwd_diff fwd_diff no_diff detach diffPair DifferentialPair IDifferentiable zeroParameter
    bool int uint float half double int64_t uint64_t float2 float3 float4 int2 int3 int4 uint2 uint3 uint4 bool2
    bool3 bool4 half2 half3 half4 float2x2 float3x3 float4x4 vector matrix Array
    StructuredBuffer RWStructuredBuffer ByteAddressBuffer RWByteAddressBuffer Texture2D RWTexture2D SamplerState
    true false none nullptr static const struct return while for switch case default break continue
    InterlockedAdd WaveActiveSum WaveGetLaneIndex GroupMemoryBarrierWithGroupSync
    """.split()
)
SLANGPY_TYPES = frozenset(
    f"{i}{access}{kind}"
    for i in ("I", "")
    for access in ("", "W", "RW")
    for kind in ("Tensor", "DiffTensor", "PrimalTensor")
) | {"AtomicTensor", "GridArg", "ContextND"}
CUDA_ONLY = frozenset(("DiffTensorView", "TensorView", "TorchTensor")) | frozenset(
    f"cuda{name}" for name in ("ThreadIdx", "BlockIdx", "BlockDim")
)
CUDA = (
    "this style needs the CUDA backend (`%slang use cuda`). On every backend a `DiffTensor` parameter works, "
    "and an index parameter filled by `spy.grid(shape)`"
)

_PREFIXES = frozenset(("np", "numpy", "math", "torch", "jnp", "cmath", "std", "glm", "F", "Math"))
_CONSTANTS = {
    "pi": "3.14159265",
    "M_PI": "3.14159265",
    "PI": "3.14159265",
    "M_E": "2.71828183",
    "INFINITY": "1.0 / 0.0",
}
_CONSTANTS |= {
    "M_PI_2": "1.57079633",
    "M_1_PI": "0.31830989",
    "M_SQRT2": "1.41421356",
    "FLT_MAX": "3.402823466e38",
}
_INSTEAD = {
    "mix": "write `lerp(a, b, t)`",
    "mod": "write `fmod(a, b)`; for GLSL's sign rule `a - b * floor(a / b)`",
    "inversesqrt": "write `rsqrt(x)`",
    "dFdx": "write `ddx(x)`",
    "dFdy": "write `ddy(x)`",
    "texture": "write `t.Sample(s, uv)`, with a `Texture2D t` and a `SamplerState s`",
    "arctan2": "write `atan2(y, x)`",
    "arctan": "write `atan(x)`",
    "arcsin": "write `asin(x)`",
    "arccos": "write `acos(x)`",
    "maximum": "write `max(a, b)`",
    "minimum": "write `min(a, b)`",
    "clip": "write `clamp(x, lo, hi)`",
    "power": "write `pow(a, b)`",
    "where": "write `select(condition, a, b)`",
    "norm": "write `length(v)`",
    "ln": "write `log(x)`",
    "sqr": "write `x * x`",
    "square": "write `x * x`",
    "relu": "write `max(x, 0.0)`",
    "sigmoid": "write `1.0 / (1.0 + exp(-x))`",
    "sum": "write `dot(v, float3(1))` for a vector, or a loop",
    "rand": "pass random numbers in: `spy.rand_float(min, max, dim)` as the argument",
    "random": "pass random numbers in: `spy.rand_float(min, max, dim)` as the argument",
    "erf": "Slang has no `erf`; write an approximation as a function",
    "tgamma": "Slang has no gamma function; write an approximation as a function",
    "grad": "write `bwd_diff(f)(p, 1.0)` with `var p = diffPair(x);`, or `sn.grad(f)` in Python",
    "None": "Slang has no None; return a number, or `none` for an `Optional<T>`",
    "NULL": "write `nullptr`",
    "True": "write `true`",
    "False": "write `false`",
    "auto": "write `var`, or `let` for what does not change",
    "self": "write `this`, or the field's name alone",
    "elif": "write `else if (...)`",
    "def": "write the result type instead of `def`: `float f(float x) { return x; }`",
    "lambda": "write a function of its own, with types: `float f(float x) { return x; }`",
    "range": "write `for (int i = 0; i < n; i++)`",
    "len": "write `a.getCount()` for an array, `t.shape[0]` for a tensor",
    "and": "write `&&`",
    "or": "write `||`",
    "not": "write `!`",
    "print": 'write `import sgl.device.print;` at the top, then `print("x={}", x);`',
    "static_cast": "write the type as a function: `int(x)`",
    "unsigned": "write `uint`",
    "long": "write `int64_t`",
    "char": "write `int8_t`",
    "string": "write `String`",
    "boolean": "write `bool`",
    "Float": "write `float`",
    "Int": "write `int`",
    "Bool": "write `bool`",
    "float32": "write `float`",
    "float16": "write `half`",
    "float64": "write `double`",
    "int32": "write `int`",
    "uint32": "write `uint`",
    "f32": "write `float`",
    "f16": "write `half`",
    "f64": "write `double`",
    "i32": "write `int`",
    "u32": "write `uint`",
    "threadIdx": CUDA,
    "blockIdx": CUDA,
    "blockDim": CUDA,
    "__syncthreads": "write `GroupMemoryBarrierWithGroupSync()`",
    "spy": "`spy` is a Python name: write that part in the Python cell",
    "sn": "`sn` is a Python name: write that part in the Python cell",
}
_GLSL_VECTOR = re.compile(r"([ iubd]?)[vV]ec([234])")
_GLSL_MATRIX = re.compile(r"[mM]at([234])(?:x([234]))?")
_VECTOR_TYPES = {"": "float", "i": "int", "u": "uint", "b": "bool", "d": "double"}
_C_FUNCTION = re.compile(
    r"(sin|cos|tan|asin|acos|atan|atan2|exp|exp2|log|log2|log10|pow|sqrt|floor|ceil|fabs|fmod|round|trunc)f"
)
_LOCAL = re.compile(
    r"(?<![\w.])(?!return\b|else\b|import\b|case\b)[A-Za-z_]\w*+(?:<[^<>;{}]{0,80}>)?\s++([A-Za-z_]\w*+)\s*+(?=[=;,)\[(:{])"
)


def remedy_for_name(name: str, after: str, text: str, known: Collection[str]) -> str:
    """Say what to write instead of an undefined `name`.

    Parameters
    ----------
    name : str
        The name that the compiler does not know.
    after : str
        The source line from behind the name on, to read ``.sin`` of ``np.sin``.
    text : str
        The whole source, for its own names.
    known : collection of str
        Names of other cells and modules, and what they declare.

    Examples
    --------
    >>> remedy_for_name("mix", "(a, b, t)", "", ())
    'write `lerp(a, b, t)`'
    >>> remedy_for_name("np", ".sin(x)", "", ())
    'write `sin` without `np.`'
    >>> remedy_for_name("lenght", "(v)", "", ())
    'did you mean `length`?'
    """
    if name in SLANGPY_TYPES and not re.search(r"\bimport\s+slangpy\s*;", text):
        return "write `import slangpy;` at the top of the cell"
    if name in CUDA_ONLY:
        return CUDA
    if name in known:
        return f"write `import {name};` at the top of the cell"
    own = own_names(text)
    exact = next((n for n in own if n.lower() == name.lower() and n != name), "")
    if exact:
        return f"did you mean `{exact}`?"
    special = _special(name, after)
    if special:
        return special
    near = close(name, [*own, *known]) or close(name, BUILTINS)
    if near:
        return f"did you mean `{near}`?"
    return f"declare `{name}`, or import the module that has it"


def _special(name: str, after: str) -> str:
    if name in _PREFIXES and (member := re.match(r"\s*(?:\.|::)\s*(\w+)", after)):
        inner = member.group(1)
        return (
            _special(inner, "")
            or f"write `{inner}` without `{name}{'::' if name in ('std', 'glm') else '.'}`"
        )
    if name in _PREFIXES and name not in _INSTEAD:
        return f"`{name}` is no Slang module; Slang's own functions need no prefix"
    if name in _CONSTANTS:
        return f"write `static const float {name} = {_CONSTANTS[name]};` at the top of the cell"
    if vector := _GLSL_VECTOR.fullmatch(name):
        return f"write `{_VECTOR_TYPES[vector.group(1).strip()]}{vector.group(2)}`"
    if matrix := _GLSL_MATRIX.fullmatch(name):
        columns, rows = matrix.group(1), matrix.group(2) or matrix.group(1)
        return f"write `float{rows}x{columns}`"
    if c_function := _C_FUNCTION.fullmatch(name):
        return f"write `{c_function.group(1)}`"
    return _INSTEAD.get(name, "")


def close(name: str, candidates: Iterable[str]) -> str:
    """Give the candidate most like `name`, or "".

    Examples
    --------
    >>> close("normalise", ["length", "normalize"])
    'normalize'
    """
    options = dict.fromkeys(c for c in candidates if c != name)
    found = difflib.get_close_matches(name, options, 1, 0.65)
    return found[0] if found else ""


def own_names(text: str) -> list[str]:
    """Give the names that a source declares: functions, types, members, parameters, locals.

    Examples
    --------
    >>> own_names("float f(float x) { float y = x; return y; }")
    ['f', 'x', 'y']
    """
    names: dict[str, None] = {}

    def add(declared: Iterable[Declaration]) -> None:
        for one in declared:
            names[one.name.split("::")[-1]] = None
            names.update(dict.fromkeys(p.name for p in one.parameters if p.name))
            add(one.children)

    add(declarations(text))
    names.update(dict.fromkeys(m.group(1) for m in _LOCAL.finditer(masked(text))))
    return list(names)
