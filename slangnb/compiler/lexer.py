"""Pygments lexers for Slang: `SlangLexer` for code, `SlangCellLexer` for a whole ``%%slang`` cell.

Pygments finds both by their entry points (``slang`` and ``slang-cell``), so that fences in Markdown, exported
notebooks and ``f??`` are coloured. The words are those of the JupyterLab extension
(``slangnb/labextension/static/words.js``); a test keeps the two lists equal.
"""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, bygroups, default, include, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Statements, modifiers and operators that are words.
KEYWORDS = _split("""
    break case catch continue default defer discard do else for goto if return switch throw throws try while where
    as is in out inout let var func new sizeof alignof countof operator
    const constexpr static uniform dynamic_uniform extern export import module implementing using namespace
    public private internal protected override virtual inline register volatile restrict
    groupshared precise row_major column_major snorm unorm noperspective nointerpolation globallycoherent
    noncopyable no_diff fwd_diff bwd_diff __fwd_diff __bwd_diff detach static_assert packoffset
    __generic __init __subscript __include __exported __extern_cpp __global __constref __ref __target_switch
    __stage_switch __intrinsic_asm __target_intrinsic __intrinsic_op __dispatch_kernel spirv_asm
""")
#: Words that are names as often; they are keywords in front of a name or of a brace.
CONTEXTUAL = _split("""
    borrow centroid dyn each expand explicit get implicit layout linear optional pervertex property ref sample set some
""")
#: Words that a declaration begins with; the name that is declared follows.
DECLARATIONS = _split("""
    struct class interface enum extension typedef typealias associatedtype functype typename cbuffer tbuffer
""")
CONSTANTS = _split("true false nullptr none")
SELVES = _split("this This super")
#: Types of the language and of its core library: regular expressions, which JavaScript reads as well.
TYPES = _split("""
    (?:bool|half|float|double|u?int|dword|float(?:16|32|64)_t|u?int(?:8|16|32|64)_t)(?:[1-4](?:x[1-4])?)?
    void u?intptr_t u?size_t ssize_t string String NativeString vector matrix
    Array Optional Tuple Ptr Ref Result Conditional Atomic DescriptorHandle
    I?D?Tensor(?:View)? I?(?:RW|W)Tensor I?(?:RW|W)?DiffTensor I?Grad(?:In|Out|InOut)Tensor
    I?PrimalTensor AtomicTensor DiffTensorView TorchTensor
    DifferentialPair DifferentialPtrPair Differential
    I(?:Differentiable|DifferentiablePtr)(?:Type)? I(?:Arithmetic|Float|Integer|Logical|Comparable|RangedValue|RW)
    I(?:RW)?Array I(?:Mutating|Differentiable|DifferentiableMutating)?Func I(?:Forward|Backward)Differentiable
    (?:RW|RasterizerOrdered|Append|Consume)?(?:Structured|ByteAddress)?Buffer
    ConstantBuffer TextureBuffer ParameterBlock GLSLShaderStorageBuffer
    (?:RW|RasterizerOrdered|W|Feedback)?(?:Texture|Sampler)(?:1D|2D|3D|Cube)(?:MS)?(?:Array)?
    Sampler(?:Comparison)?State RaytracingAccelerationStructure RayDesc RayQuery HitObject
    Coop(?:Vec|Mat) (?:Point|Line|Triangle)Stream (?:Input|Output)Patch Output(?:Vertices|Indices|Primitives)
""")

_NAME = r"[A-Za-z_]\w*"
_TYPE = rf"\b(?:{'|'.join(TYPES)})\b"
#: Parameters of a generic, which may hold generics that hold generics.
_INNER = r"[^;(){}<>]"
_GENERIC = rf"<(?:{_INNER}|<(?:{_INNER}|<{_INNER}*>)*>)*>"
#: A name behind a type, in front of parentheses, is a function that is declared; `return f(x)` and `a > f(x)` are not.
_DECLARED_FUNCTION = (
    r"(?:(?<=\w)|(?<=[\w>]>)|(?<=\]))(?<!\breturn)(?<!\belse)(?<!\bcase)(?<!\bnew)(?<!\bin)(?<!\bdo)(?<!\bthrow)"
    rf"(?<!\btry)([^\S\n]+)(?!(?:{'|'.join(KEYWORDS)})\b)({_NAME})(?=\s*(?:{_GENERIC}\s*)?\()"
)


class SlangLexer(RegexLexer):
    """Lexer for Slang, the shading language with modules, generics and automatic differentiation.

    Never fails: what the language does not know becomes an error token and the next character is read.

    Examples
    --------
    >>> from pygments.token import Keyword, Name
    >>> found = list(SlangLexer().get_tokens("[Differentiable] float f(no_diff float x) { return x; }"))
    >>> (Name.Decorator, "Differentiable") in found, (Name.Function, "f") in found, (Keyword, "no_diff") in found
    (True, True, True)
    """

    name = "Slang"
    aliases = ["slang"]  # noqa: RUF012 - Pygments reads class attributes of these types
    filenames = ["*.slang", "*.slangh"]  # noqa: RUF012
    mimetypes = ["text/x-slang"]  # noqa: RUF012
    url = "https://shader-slang.org"
    version_added = ""
    flags = re.MULTILINE

    tokens = {  # noqa: RUF012
        "root": [
            (_DECLARED_FUNCTION, bygroups(Whitespace, Name.Function)),
            include("space"),
            (r"(?=#)", Whitespace, "directive"),
            (r"R\"([^\s()\\]{0,16})\((?:.|\n)*?\)\1\"", String),
            (r'"', String.Double, "string"),
            (r"'(?:\\.|[^'\\\n])'?", String.Char),
            include("number"),
            (words(DECLARATIONS, r"\b", r"\b"), Keyword.Declaration, "declared"),
            (words(CONSTANTS, r"\b", r"\b"), Keyword.Constant),
            (words(SELVES, r"\b", r"\b"), Name.Builtin.Pseudo),
            (words(KEYWORDS, r"\b", r"\b"), Keyword),
            (words(CONTEXTUAL, r"\b", r"(?=\s+[A-Za-z_]|\s*\{)"), Keyword),
            (_TYPE, Keyword.Type),
            (rf"\b{_NAME}", Name),
            (r"(?<=[\w)\]>])\[", Punctuation, "index"),
            (r"\[\[?", Punctuation, "attribute"),  # a bracket that stands for itself is an attribute's
            (r"[-+*/%=<>!&|^~?:]", Operator),
            (r"[(){}\],.;\\$@]", Punctuation),
        ],
        "space": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
        ],
        "comment": [  # an unfinished one goes on to the end
            (r"[^*]+", Comment.Multiline),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"\*", Comment.Multiline),
        ],
        "string": [  # an unfinished one ends with its line
            (r'[^"\\\n]+', String.Double),
            (r"\\(?:[^x\n]|x[0-9a-fA-F]{0,2}|\n)", String.Escape),
            (r'"', String.Double, "#pop"),
            (r"(?=\n)", String.Double, "#pop"),
            (r"\\", String.Double),
        ],
        "number": [
            (r"0[xX][\da-fA-F_]+[uUlLzZ]*", Number.Hex),
            (r"0[bB][01_]+[uUlLzZ]*", Number.Bin),
            (r"(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?[fFhHlL]*", Number.Float),
            (r"\d+(?:[eE][-+]?\d+[fFhHlL]*|[fFhH])", Number.Float),
            (r"\d[\d_]*[uUlLzZ]*", Number.Integer),
        ],
        "declared": [  # behind `struct`, `interface`, ...: the name that is declared
            (r"\s+", Whitespace),
            (_TYPE, Keyword.Type, "#pop"),
            (rf"(?!(?:class|struct)\b)\b{_NAME}", Name.Class, "#pop"),
            default("#pop"),
        ],
        "index": [
            (r"\]", Punctuation, "#pop"),
            (r"[;{}]", Punctuation, "#pop"),  # a bracket that is not closed ends with its statement
            include("root"),
        ],
        "attribute": [
            include("space"),
            (rf"{_NAME}(?:::{_NAME})*", Name.Decorator, ("#pop", "arguments")),
            default(("#pop", "arguments")),
        ],
        "arguments": [  # of an attribute, up to its bracket
            (r"(\]\]?)(\[\[?)", bygroups(Punctuation, Punctuation), ("#pop", "attribute")),
            (r"\]\]?", Punctuation, "#pop"),
            (r"[;{}]", Punctuation, "#pop"),
            (r"(,)(\s*)", bygroups(Punctuation, Whitespace)),
            include("root"),
        ],
        "directive": [
            (r"[ \t]+", Whitespace),
            (r"#[ \t]*(?:include|import)\b", Comment.Preproc, ("#pop", "file")),
            (r"#[ \t]*\w*", Comment.Preproc, ("#pop", "rest")),
            default("#pop"),
        ],
        "file": [
            (r"[ \t]+", Whitespace),
            (r'<[^>\n]*>?|"[^"\n]*"?', Comment.PreprocFile, ("#pop", "rest")),
            default(("#pop", "rest")),
        ],
        "rest": [  # of a directive; a backslash continues it on the next line
            (r"\\\n", Comment.Preproc),
            (r"\n", Whitespace, "#pop"),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'"(?:\\.|[^"\\\n])*"?', String.Double),
            include("number"),
            (r"\w+|[^\w\n]", Comment.Preproc),
        ],
    }


class SlangCellLexer(SlangLexer):
    """Lexer for a notebook's cell: the line ``%%slang NAME --option`` and the Slang code below it.

    A cell that begins otherwise is plain Slang to it. Exporting with
    ``--HighlightMagicsPreprocessor.languages='{"%%slang": "slang-cell"}'`` makes nbconvert use it.

    Examples
    --------
    >>> list(SlangCellLexer().get_tokens("%%slang -q\\nint i;"))[:3]
    [(Token.Operator, '%%'), (Token.Keyword, 'slang'), (Token.Text.Whitespace, ' ')]
    """

    name = "Slang cell"
    aliases = ["slang-cell"]  # noqa: RUF012
    filenames = []  # noqa: RUF012
    mimetypes = []  # noqa: RUF012

    tokens = {  # noqa: RUF012
        **SlangLexer.tokens,
        "root": [
            (r"\A(\s*)(%%)(slang)\b", bygroups(Whitespace, Operator, Keyword), "magic"),
            *SlangLexer.tokens["root"],
        ],
        "magic": [
            (r"\n", Whitespace, "#pop"),
            (r"[^\S\n]+", Whitespace),
            (r"--?[A-Za-z][\w-]*", Name.Attribute),
            (r"[^\s]+?(?==)", Name),
            (r"[^\s]+", Text),
        ],
    }
