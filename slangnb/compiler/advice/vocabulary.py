"""Words of Slang, of SlangPy, and of the languages that people come from. Data only."""

from __future__ import annotations

import re

#: Functions, types and values of Slang that people write by hand.
BUILTINS = tuple(
    re.findall(
        r"\w+",
        """
    abs acos acosh all any asfloat asin asinh asint asuint atan atan2 atanh ceil clamp copysign cos
    cosh countbits cross ddx ddy degrees determinant distance dot exp exp10 exp2 fabs faceforward
    firstbithigh firstbitlow floor fma fmod frac fract frexp isfinite isinf isnan ldexp length lerp
    lit log log10 log2 mad max min modf mul normalize pow powr radians reflect refract reversebits
    round rsqrt saturate select sign sin sincos sinh smoothstep sqrt step tan tanh transpose trunc
    cospi fdim max3 median3 min3 nextafter rcp rint sinpi tanpi
    bwd_diff fwd_diff no_diff detach diffPair DifferentialPair IDifferentiable bool
    int uint float half double int64_t uint64_t float2 float3 float4 int2 int3 int4 uint2 uint3
    uint4 bool2 bool3 bool4 half2 half3 half4 float2x2 float3x3 float4x4 vector matrix Array
    StructuredBuffer RWStructuredBuffer ByteAddressBuffer RWByteAddressBuffer Texture2D RWTexture2D
    SamplerState true false none nullptr InterlockedAdd WaveActiveSum WaveGetLaneIndex GroupMemoryBarrierWithGroupSync
    """,
    )
)
#: Functions of Slang that have a derivative, also behind ``no_diff``.
DERIVED = frozenset(
    re.findall(
        r"\w+",
        """
    abs acos asin atan atan2 clamp cos cosh cross degrees determinant distance dot exp exp2 fma fmod frac length lerp
    log log10 log2 mad max min mul normalize pow radians rcp reflect rsqrt saturate select sin sinh sqrt tan tanh
    transpose
    """,
    )
)
#: What to write for functions of Slang without a derivative where it is wanted.
DERIVED_INSTEAD = {
    "smoothstep": "`t * t * (3 - 2 * t)` with `t = saturate((x - lo) / (hi - lo))`",
    "exp10": "`pow(10.0, x)`",
    "fabs": "`abs(x)`",
    "fdim": "`max(a - b, 0.0)`",
    "fract": "`frac(x)`",
    "ldexp": "`x * exp2(e)`",
    "max3": "`max(a, max(b, c))`",
    "min3": "`min(a, min(b, c))`",
    "powr": "`pow(x, y)`",
    "cospi": "`cos(3.14159265 * x)`",
    "sinpi": "`sin(3.14159265 * x)`",
    "tanpi": "`tan(3.14159265 * x)`",
}
#: How some of Slang's functions are called, by their names.
CALLS = {
    call.partition("(")[0]: call
    for call in re.findall(
        r"\w+\([^)]*\)",
        """
    abs(x) acos(x) asin(x) atan(x) ceil(x) cos(x) cosh(x) degrees(x) exp(x) exp2(x) floor(x) frac(x)
    log(x) log2(x) log10(x) radians(x) round(x) rsqrt(x) saturate(x) sign(x) sin(x) sinh(x) sqrt(x)
    tan(x) tanh(x) trunc(x) length(v) normalize(v) transpose(m) determinant(m)
    atan2(y, x) cross(a, b) distance(a, b) dot(a, b) fmod(a, b) max(a, b) min(a, b) mul(a, b)
    pow(x, y) reflect(direction, normal) step(edge, x)
    clamp(x, lo, hi) lerp(a, b, t) smoothstep(lo, hi, x)
    """,
    )
}
#: Keywords that another word follows, and that start a statement.
KEYWORDS = ("return", "static", "const", "struct", "case")
#: What `import slangpy;` brings.
SLANGPY_TYPES = frozenset(
    f"{i}{access}{kind}"
    for i in ("I", "")
    for access in ("", "W", "RW")
    for kind in ("Tensor", "DiffTensor", "PrimalTensor")
) | {"AtomicTensor", "GridArg", "ContextND"}
#: Names of parameters that break the code that SlangPy generates for a call.
CLASHING_PARAMETERS = frozenset(
    ("_result", "struct", "class", "enum", "default", "case", "return", "if", "else", "for", "while", "do")
) | frozenset(("float", "half", "double", "int", "uint", "bool", "void"))
#: Names that only compile for the CUDA backend.
CUDA_ONLY = frozenset(("DiffTensorView", "TensorView", "TorchTensor")) | frozenset(
    f"cuda{name}" for name in ("ThreadIdx", "BlockIdx", "BlockDim")
)
CUDA = (
    "this style needs the CUDA backend (`%slang use cuda`). On every backend a `DiffTensor` parameter works, "
    "and an index parameter filled by `spy.grid(shape)`"
)

TENSOR = "write `float` for a function of each element; for a whole tensor `Tensor<float, 1>`, with `import slangpy;`"

#: Module and namespace names that stand before functions in other languages.
PREFIXES = frozenset(("np", "numpy", "math", "torch", "jnp", "cmath", "std", "glm", "F", "Math"))
CONSTANTS = {
    "pi": "3.14159265",
    "M_PI": "3.14159265",
    "PI": "3.14159265",
    "M_E": "2.71828183",
    "INFINITY": "1.0 / 0.0",
}
CONSTANTS |= {
    "M_PI_2": "1.57079633",
    "M_1_PI": "0.31830989",
    "M_SQRT2": "1.41421356",
    "FLT_MAX": "3.402823466e38",
}
INSTEAD = {
    "mix": "write `lerp(a, b, t)`",
    "mod": "write `fmod(a, b)`; for GLSL's sign rule `a - b * floor(a / b)`",
    "inversesqrt": "write `rsqrt(x)`",
    "dFdx": "write `ddx(x)`",
    "dFdy": "write `ddy(x)`",
    "texture": "write `t.Sample(s, uv)`, with a `Texture2D t` and a `SamplerState s`",
    "gl_FragColor": "return the colour: `float4 f(float2 uv) { return float4(uv, 0, 1); }`",
    "gl_FragCoord": "pass the place as a parameter: `float4 f(float2 uv) { ... }`",
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
    "else": "`else` stands behind `if (...) { ... }`; for a value write `condition ? a : b`",
    "elif": "write `else if (...)`",
    "def": "write the result type instead of `def`: `float f(float x) { return x; }`",
    "fn": "write `func f(x: float) -> float`, or the result type instead of `fn`: `float f(float x)`",
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
    "tensor": TENSOR,
    "ndarray": TENSOR,
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
