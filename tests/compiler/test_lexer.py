"""The Pygments lexers: what each word is, and that no text is lost."""

from __future__ import annotations

import json
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename, get_lexer_for_mimetype
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, _TokenType
from traitlets.config import Config

import slangnb
from slangnb.compiler import lexer
from slangnb.compiler.lexer import SlangCellLexer, SlangLexer

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "slangnb/labextension"

Pair = tuple[_TokenType, str]


def tokens(text: str, cell: bool = False) -> list[Pair]:
    """Give the tokens that are not blank; their texts make up the whole."""
    made = (SlangCellLexer if cell else SlangLexer)(stripnl=False, ensurenl=False)
    found = list(made.get_tokens(text))
    assert "".join(value for _, value in found) == text
    return [(kind, value) for kind, value in found if value.strip()]


def kinds(text: str) -> dict[str, _TokenType]:
    """Give the kind of each text, for texts that have but one."""
    found: dict[str, _TokenType] = {}
    for kind, value in tokens(text):
        assert found.setdefault(value, kind) is kind, value
    return found


def test_pygments_finds_the_lexers() -> None:
    assert isinstance(get_lexer_by_name("slang"), SlangLexer)
    assert isinstance(get_lexer_by_name("slang-cell"), SlangCellLexer)
    assert type(get_lexer_for_filename("brdf.slang")) is SlangLexer
    assert type(get_lexer_for_mimetype("text/x-slang")) is SlangLexer


def test_a_differentiable_function() -> None:
    found = kinds("[Differentiable]\npublic float square(no_diff float x)\n{\n    return x * 2.5e-3f;  // twice\n}")
    assert found == {
        "[": Punctuation,
        "Differentiable": Name.Decorator,
        "]": Punctuation,
        "public": Keyword,
        "float": Keyword.Type,
        "square": Name.Function,
        "(": Punctuation,
        "no_diff": Keyword,
        "x": Name,
        ")": Punctuation,
        "{": Punctuation,
        "return": Keyword,
        "*": Operator,
        "2.5e-3f": Number.Float,
        ";": Punctuation,
        "// twice": Comment.Single,
        "}": Punctuation,
    }


def test_nested_generics_and_constraints() -> None:
    text = "T[N] apply<let N : int, T : IFloat>(Array<Array<vector<T, 3>, 4>, 5> a) where T : IDifferentiable { }"
    found = kinds(text)
    for word in ("Array", "vector", "IFloat", "IDifferentiable", "int"):
        assert found[word] is Keyword.Type, word
    assert found["apply"] is Name.Function
    assert found["let"] is found["where"] is Keyword
    assert found["N"] is found["T"] is found["a"] is Name
    assert found["<"] is found[">"] is Operator
    assert [v for k, v in tokens("Ptr<Ptr<Ptr<float>>> p") if k is Operator] == ["<", "<", "<", ">", ">", ">"]


def test_declared_names() -> None:
    found = kinds(
        "struct Ray : IDifferentiable { typealias Differential = This; }\n"
        "interface IShape { associatedtype Point; float area(); }\n"
        "extension Disk : IFloat { }\nenum class Kind { A, B }\n"
    )
    assert [word for word, kind in found.items() if kind is Name.Class] == ["Ray", "IShape", "Point", "Disk", "Kind"]
    assert found["area"] is Name.Function
    assert found["Differential"] is Keyword.Type


@pytest.mark.parametrize(
    "text",
    [
        "return f(x);",
        "if (a > f(x)) return;",
        "x = a * f(x);",
        "else f(x);",
        "// a float\nf(x);",
        "y = b < f(x);",
        "f(x)",
    ],
)
def test_a_call_is_no_declaration(text: str) -> None:
    assert (Name, "f") in tokens(text)


@pytest.mark.parametrize(
    "text",
    [
        "float f(",
        "MyType f<T>(",
        "Tensor<float, 2> f(",
        "float[3] f(",
        "func f(",
        "vector<T, N> f<T : IA<IB<C>>, let N : int> (",
    ],
)
def test_a_declaration(text: str) -> None:
    assert (Name.Function, "f") in tokens(text)


def test_a_generic_type_is_no_function() -> None:
    found = kinds("internal static Pair<T, 2> first<let N : int>(int i)")
    assert (found["Pair"], found["first"]) == (Name, Name.Function)


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("[Differentiable] [MaxIters(8)] for", ["Differentiable", "MaxIters"]),
        ("[BackwardDerivative(f_bwd)][ForceInline]", ["BackwardDerivative", "ForceInline"]),
        ("[[vk::binding(0, 1)]] Texture2D t;", ["vk::binding"]),
        ("for (;;) [unroll] while (true) {}", ["unroll"]),
        ('[shader("compute")]\n[numthreads(8, 8, 1)]', ["shader", "numthreads"]),
        ("[\n  Differentiable\n]", ["Differentiable"]),
        ("y = w[i] + a[0][k] + f()[j] + this[n] + m[w[i]][k];", []),
        ("float[N] x; Array<float, 3>[2] y;", []),
        ("x = a[i;\n[Differentiable] float f()", ["Differentiable"]),
        ("[Foo(a[0])] float f()", ["Foo"]),
    ],
)
def test_attributes_and_indices(text: str, attributes: list[str]) -> None:
    assert [value for kind, value in tokens(text) if kind is Name.Decorator] == attributes


def test_vector_and_matrix_types() -> None:
    for word in ("float3", "half4", "uint2", "bool1", "float3x4", "double4x4", "int16_t2", "uint64_t", "float16_t3x3"):
        assert tokens(word) == [(Keyword.Type, word)], word
    for word in ("float5", "float3x5", "float3x", "floats", "_float", "int3_t", "vectors"):
        assert tokens(word) == [(Name, word)], word


def test_derivatives_and_selves() -> None:
    found = kinds("bwd_diff(f)(dp, 1.0h); fwd_diff(g)(this.p); This x = none; bool b = true;")
    assert found["bwd_diff"] is found["fwd_diff"] is Keyword
    assert found["this"] is found["This"] is Name.Builtin.Pseudo
    assert found["true"] is found["none"] is Keyword.Constant
    assert found["1.0h"] is Number.Float


def test_words_that_are_names_as_often() -> None:
    assert tokens("linear(x)")[0] == tokens("linear = 2;")[0] == (Name, "linear")
    assert tokens("linear float3 n;")[0] == (Keyword, "linear")
    assert [v for k, v in tokens("property int n { get { return set; } }") if k is Keyword] == [
        "property",
        "get",
        "return",
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0xFFu", Number.Hex),
        ("0b101", Number.Bin),
        ("1e10", Number.Float),
        ("1.", Number.Float),
        (".5f", Number.Float),
        ("2h", Number.Float),
        ("1_000_000ull", Number.Integer),
    ],
)
def test_numbers(text: str, kind: _TokenType) -> None:
    assert tokens(text) == [(kind, text)]


def test_preprocessor() -> None:
    found = tokens('#include <a.slang> // why\n  #line 12 "In[3]"\n#define TWICE(x) \\\n    (x + 1)\nfloat y;')
    assert found[:3] == [(Comment.Preproc, "#include"), (Comment.PreprocFile, "<a.slang>"), (Comment.Single, "// why")]
    assert found[3:6] == [(Comment.Preproc, "#line"), (Number.Integer, "12"), (String.Double, '"In[3]"')]
    assert found[6] == (Comment.Preproc, "#define")
    assert (Comment.Preproc, "TWICE") in found
    at = found.index((Number.Integer, "1"))
    assert found[at - 1 : at + 2] == [(Comment.Preproc, "+"), (Number.Integer, "1"), (Comment.Preproc, ")")]
    assert found[-3:] == [(Keyword.Type, "float"), (Name, "y"), (Punctuation, ";")]


def test_unfinished_text() -> None:
    assert {k for k, _ in tokens("/* to the\n * very end; float x;")} == {Comment.Multiline}
    assert tokens("// last line") == [(Comment.Single, "// last line")]
    found = tokens('let s = "not closed;\nint k;')
    assert (String.Double, "not closed;") in found
    assert found[-3:] == [(Keyword.Type, "int"), (Name, "k"), (Punctuation, ";")]
    assert tokens('R"(raw " text)" x') == [(String, 'R"(raw " text)"'), (Name, "x")]
    assert (String.Escape, '\\"') in tokens(r'"a\"b"')


def test_a_comment_ends_where_it_ends() -> None:
    assert tokens("/* a **/ x /**/ y") == [
        *[(Comment.Multiline, part) for part in ("/*", " a ", "*", "*/")],
        (Name, "x"),
        *[(Comment.Multiline, part) for part in ("/*", "*/")],
        (Name, "y"),
    ]


@pytest.mark.parametrize("blank", ["", "\n\n", "  "])
def test_cell(blank: str) -> None:
    found = tokens(blank + "%%slang net -b vulkan --define N=3 # note\nfloat y = x % 2;", cell=True)
    assert found[:2] == [(Operator, "%%"), (Keyword, "slang")]
    assert [v for k, v in found if k is Name.Attribute] == ["-b", "--define"]
    assert found[-7:] == [
        *[(Keyword.Type, "float"), (Name, "y"), (Operator, "="), (Name, "x")],
        *[(Operator, "%"), (Number.Integer, "2"), (Punctuation, ";")],
    ]


def test_only_the_first_line_is_the_magic() -> None:
    assert tokens("%%slanguage", cell=True)[0] == (Operator, "%")
    assert (Keyword, "slang") not in tokens("float x;\n%%slang", cell=True)
    assert (Keyword, "slang") not in tokens("%%slang")


def exported(cells: list[Any], **settings: Any) -> str:
    """Give nbconvert's page for a notebook's cells, without its head."""
    notebook = new_notebook(cells=cells, metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}})
    page, _ = HTMLExporter(config=Config(settings)).from_notebook_node(notebook)
    return page[page.index("<body") :]


def test_nbconvert_colours_fences() -> None:
    page = exported([new_markdown_cell("```slang\n[Differentiable] float f(no_diff float x);\n```")])
    for span in ('"nd">Differentiable', '"kt">float', '"nf">f', '"k">no_diff'):
        assert f"<span class={span}</span>" in page, span


def test_nbconvert_colours_cells_when_told_of_the_magic() -> None:
    cells = [new_code_cell("%%slang -q\nno_diff float x;"), new_code_cell("import no_diff")]
    told = {"HighlightMagicsPreprocessor": {"languages": {"%%slang": "slang-cell"}}}
    page = exported(cells, **told)
    for span in ('"k">slang', '"na">-q', '"kt">float', '"k">no_diff', '"nn">no_diff'):
        assert f"<span class={span}</span>" in page, span
    assert '"kt">float' not in exported(cells)


def test_shipped_shaders_hold_no_unknown_text() -> None:
    files = [*(ROOT / "shaders").glob("*.slang"), *Path(slangnb.__file__).parent.rglob("*.slang")]
    assert files
    for file in files:
        assert [value for kind, value in tokens(file.read_text("utf-8")) if kind is Error] == [], file.name


def test_any_text_is_kept() -> None:
    rng = random.Random(5)
    parts = [
        "/*",
        "*/",
        "//",
        '"',
        "'",
        "[",
        "]",
        "[[",
        "#",
        "\\",
        "\n",
        "<",
        ">",
        "(",
        ")",
        "{",
        "}",
        ";",
        "é",
        "@",
        "%%slang",
    ]
    parts += [
        "float",
        "struct",
        "x",
        "0x",
        "1.",
        'R"(',
        ")",
        " ",
        "\t",
        "no_diff",
        "this",
        "::",
        "#include",
        "\x00",
        "😀",
    ]
    for _ in range(300):
        text = "".join(rng.choices(parts, k=40))
        tokens(text)
        tokens(text, cell=True)


def test_long_text_takes_linear_time() -> None:
    line = 'Array<Array<float, 3>, 4> a = f<g<h>(x)[i], "s" /* c */; [Unroll] for (;;) {}\n'
    assert len(tokens(line * 2000)) > 50_000
    tokens("<" * 5000)
    tokens("[" * 3000)
    tokens("float x" + " " * 5000)
    tokens("x a < " * 3000)


def test_javascript_has_the_same_words() -> None:
    script = (EXTENSION / "static/words.js").read_text("utf-8")
    lists = {name: tuple(text.split()) for name, text in re.findall(r"export const (\w+) = split\(`([^`]*)`\)", script)}
    assert set(lists) == {"KEYWORDS", "CONTEXTUAL", "DECLARATIONS", "CONSTANTS", "SELVES", "TYPES"}
    for name, found in lists.items():
        assert found == getattr(lexer, name), name


def test_extension_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    package = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    assert (package["name"], package["version"]) == (project["name"], project["version"])
    assert (EXTENSION / package["jupyterlab"]["_build"]["load"]).is_file()
