# Long lines here are texts as the compiler or a person writes them.

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slangnb.compiler.advice.mistakes import check
from slangnb.compiler.reading.scan import masked, scan
from slangnb.compiler.source import Source, content_hash, imports, module_text, normalise, rewrite_imports

#: Pieces that matter to the scanner, so that random texts meet its corners.
PIECES = ["/*", "*/", "//", '"', "'", "\\", "\n", "#", "#if 0\n", "#endif\n", 'R"(', ')"', "{", "}", "(", ")"]
PIECES += [
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    "=",
    "import a;",
    "float f",
    "struct A",
    "\u200b",
    "\u00a0",
    "x",
    " ",
    "\t",
]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


def kinds(text: str) -> list[tuple[str, str]]:
    return [(s.kind, text[s.start : s.end]) for s in scan(text)]


def found(text: str) -> list[tuple[int, int, int, str, str]]:
    return [(d.line, d.column, d.length, d.message, d.remedy) for d in check(Source(text, "In[3]", 2))]


def test_scan_tells_code_comments_strings_and_directives_apart():
    text = 'a; // b "c"\n/* d\n*/ e("f//g"); \'h\'\n#define X "i" j // k\nl'
    assert kinds(text) == [
        ("code", "a; "),
        ("comment", '// b "c"'),
        ("code", "\n"),
        ("comment", "/* d\n*/"),
        ("code", " e("),
        ("string", '"f//g"'),
        ("code", "); "),
        ("string", "'h'"),
        ("code", "\n"),
        ("directive", "#define X "),
        ("string", '"i"'),
        ("directive", " j "),
        ("comment", "// k"),
        ("code", "\nl"),
    ]


def test_scan_follows_a_backslash_at_the_end_of_a_line():
    assert kinds("// a \\\nb\nc") == [("comment", "// a \\\nb"), ("code", "\nc")]
    assert kinds("#define A \\\n  b\nc") == [("directive", "#define A \\\n  b"), ("code", "\nc")]


def test_scan_ends_an_open_string_with_its_line_and_an_open_comment_with_the_text():
    assert kinds('a "b\nc') == [("code", "a "), ("string", '"b'), ("code", "\nc")]
    assert kinds("a /* b\nc") == [("code", "a "), ("comment", "/* b\nc")]


def test_scan_knows_raw_strings():
    assert kinds('R"x(a " /* )x" b') == [("string", 'R"x(a " /* )x"'), ("code", " b")]


def test_masked_keeps_offsets_and_lines():
    text = 'f("a{"); // {\n/* {\n */ g();'
    assert masked(text) == "f(    );     \n    \n    g();"
    assert len(masked(text)) == len(text)


@given(texts)
def test_scan_covers_every_text_without_gaps(text: str):
    spans = list(scan(text))
    assert "".join(text[s.start : s.end] for s in spans) == text
    assert all(s.start < s.end for s in spans)


@pytest.mark.parametrize("piece", ["/*", '"', "'", "//x\n", "#a\n", "\\", "{", 'R"(', "import ", "<", "f(x);\n"])
def test_scan_check_and_imports_take_linear_time(piece: str):
    text = piece * (100_000 // len(piece))
    start = time.perf_counter()
    list(scan(text))
    imports(text)
    check(Source(text))
    assert time.perf_counter() - start < 8


def test_normalise_replaces_line_ends_and_the_byte_order_mark():
    assert normalise("\ufeffa\r\nb\rc\n") == "a\nb\nc\n"


def test_normalise_makes_exotic_spaces_plain_in_code_only():
    text = 'x\u00a0=\u2003"a\u00a0b"; // c\u00a0d'
    assert normalise(text) == 'x = "a\u00a0b"; // c\u00a0d'
    assert normalise("#define\u00a0N 3") == "#define N 3"
    assert normalise("float f()\x0c{\x0b}") == "float f() { }"


def test_normalise_drops_zero_width_characters_outside_strings():
    assert normalise('re\u200bturn x\ufeff; "a\u200bb" // c\u200dd') == 'return x; "a\u200bb" // cd'


def test_normalise_leaves_tabs_and_letters_of_other_languages():
    text = "float α = 1;\t// Größe 😀\n"
    assert normalise(text) == text


@given(texts)
def test_normalise_is_idempotent(text: str):
    once = normalise(text)
    assert normalise(once) == once


def test_line_counts_as_the_person_does():
    source = Source("a\nb\x0cc\n", "In[3]", first_line=2)
    assert [source.line(n) for n in range(6)] == ["", "", "a", "b\x0cc", "", ""]


def test_module_text_puts_defines_first_and_names_the_module():
    source = Source("int a;", "In[3]", 2, (("N", "4"), ("FLAG", "")))
    text = module_text(source, "m_0123456789ab", "int a;")
    assert text == '#define N 4\n#define FLAG\n#line 2 "m_0123456789ab"\nint a;'


def test_content_hash_is_twelve_digits_of_sha256_and_minds_the_borders():
    assert content_hash("a", "b") == content_hash("a", "b")
    assert len(content_hash("")) == 12
    assert len({content_hash("ab"), content_hash("a", "b"), content_hash("", "ab"), content_hash("ab", "")}) == 4
    assert content_hash("\ud800") != content_hash("?")


def test_imports_finds_every_form():
    text = (
        'import foo;\nimport "dir/bar";\n  import a . b ;\n__exported import baz;\n#include "x.h"\nint i; import last'
    )
    assert [(i.name, i.line, i.kind, text[i.start : i.end]) for i in imports(text)] == [
        ("foo", 1, "import", "foo"),
        ("dir/bar", 2, "import", '"dir/bar"'),
        ("a.b", 3, "import", "a . b"),
        ("baz", 4, "import", "baz"),
        ("x.h", 5, "include", '"x.h"'),
        ("last", 6, "import", "last"),
    ]


def test_imports_ignores_comments_strings_and_other_words():
    text = '// import a;\n/* import b; */\n"import c;"\nimportant d;\nx.import;\nfloat import_e;\nfloat import = 1;'
    assert imports(text) == []


def test_rewrite_imports_changes_only_what_is_named_and_keeps_lines():
    text = 'import foo; // import foo;\nimport bar;\nimport\n  "foo";\nimport a.\n  b;\nfloat foo;'
    new = {"foo": "m_000000000001", "a.b": "m_000000000002"}
    assert rewrite_imports(text, new) == (
        "import m_000000000001; // import foo;\nimport bar;\nimport\n  m_000000000001;\n"
        "import m_000000000002\n;\nfloat foo;"
    )


@given(texts)
def test_rewrite_imports_keeps_the_number_of_lines(text: str):
    assert rewrite_imports(text, {"a": "m_000000000001"}).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "float f(float x) { return x;\0 }",
            (2, 29, 1, "a NUL character ends the text for the compiler here.", "delete the character"),
        ),
        (
            "float é; /* “ok” */\n\treturn x – 1;",
            (3, 11, 1, "'–' (U+2013) is a dash, which is not Slang.", "write `-`"),
        ),
        (
            "float x = 3 − y;",
            (2, 13, 1, "'−' (U+2212) is a dash, which is not Slang.", "write `-`"),
        ),
        (
            "x = a ≤ b;",
            (2, 7, 1, "'≤' (U+2264) is a typographic character, which is not Slang.", "write `<=`"),
        ),
        (
            "int a;\n/* float f(float x) { return x; }",
            (3, 1, 2, "this comment is never closed: nothing after it is compiled.", "close it with `*/`"),
        ),
        (
            '{\n    x = "abc;\n}',
            (3, 9, 1, "this string is never closed.", 'close it with `"`'),
        ),
        ("int x = 'a;", (2, 9, 1, "this character literal is never closed.", "close it with `'`")),
        (
            "int a;\n%%slang foo\nint b;",
            (3, 1, 11, "'%%slang' starts a cell; it cannot stand inside one.",
             "put this line and what follows in a cell of its own"),
        ),
        (
            "%timeit f(x)\nint b;",
            (2, 1, 12, "'%timeit f(x)' is a notebook command, not Slang.", "move this line to a Python cell"),
        ),
        ("int b;\n  !ls", (3, 3, 3, "'!ls' is a notebook command, not Slang.", "move this line to a Python cell")),
        (
            "# NBVAL_IGNORE_OUTPUT\nint b;",
            (2, 1, 21, "Slang comments start with //, so this line is not a comment.",
             "delete this line and give the cell the tag `nbval-ignore-output`"),
        ),
        ("{\n    # a comment\n}", (3, 5, 1, "'#' does not start a comment in Slang.", "start the comment with `//`")),
        ("int b; # why", (2, 8, 1, "'#' does not start a comment in Slang.", "start the comment with `//`")),
        ("```slang\nint b;", (2, 1, 3, "a Markdown fence is not Slang.", "delete this line")),
        (
            "float f(float x)\n{\n    if (x > 0) {\n        return 1;\n    return 2;\n}\nfloat g() { return 1; }",
            (4, 16, 1, "this '{' is never closed.", "add the missing `}`"),
        ),
        (
            "float g() { return 1; }\nint f(int x) { return x // 2; }",
            (3, 25, 2, "`//` begins a comment: what follows it is not compiled.",
             "write `/`, which divides ints without a rest; for floats `floor(x / y)`"),
        ),
        ("int f(int x) { return x; // 2; }", (2, 14, 1, "this '{' is never closed.", "add the missing `}`")),
        ("float f(float x { return x; }", (2, 8, 1, "this '(' is never closed.", "add the missing `)`")),
        ("float f() { return 1; } }", (2, 25, 1, "this '}' closes nothing.", "delete it, or open it before")),
    ],
)  # fmt: skip
def test_check_points_at(text: str, expected: tuple[int, int, int, str, str]):
    assert found(text) == [expected]


def test_check_points_at_both_typographic_quotes():
    assert [(line, column, remedy) for line, column, _, _, remedy in found("s = “x”;")] == [
        (2, 5, 'write `"`'),
        (2, 7, 'write `"`'),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "float f(float x) { return x; } // “quoted” – don't { (",
        'void f() { print("“a” – {}", x); }',
        "int x = a\n  %b;",
        "bool x = a &&\n  !b;",
        "#if 0\nit isn't “code” # at all {\n#endif\nint a;",
        "#ifdef A\nvoid f() {\n#else\nvoid g() {\n#endif\n}",
        "#define BEGIN {\nvoid f() BEGIN }",
        "#error don't\n",
        "float α = 1; float x′ = 2;",
        "# define N 3\n#pragma once\n",
        'char c = \'\\\'\'; String s = "\\""; String r = R"(a " b)";',
        "/**/ int a; /* /* */",
    ],
)
def test_check_is_silent_about(text: str):
    assert found(text) == []


@settings(deadline=None)
@given(texts)
def test_check_never_raises_and_stays_inside_the_text(text: str):
    source = Source(normalise(text), "In[3]", 2)
    for d in check(source):
        assert d.source == source.line(d.line)
        assert 1 <= d.column <= len(d.source) + 1
