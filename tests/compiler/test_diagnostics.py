# ruff: noqa: E501
# Long lines here are texts as the compiler or a person writes them.


import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slangnb.compiler.diagnostics import parse
from slangnb.compiler.source import Source
from slangnb.errors import Diagnostic, SlangNbError

NAME = "m_0123456789ab"
OTHER = "m_ba9876543210"
GENERATED = "91e62763dbeb1ab4d86e21473cb9a15b8c0a3b30"
END = (
    "--'\nerror[E39999]: import failed due to compilation error\nfatal error[E40003]: compilation ceased\n"
    "abort compilation: fatal error[E40003]: compilation ceased\n\n"
)


def message(place: str, line: int, column: int, shown: str, caret: str, label: str, head: str) -> str:
    number = str(line)
    blank = " " * len(number)
    return f"{head}\n{blank}--> {place}:{line}:{column}\n{blank} |\n{number} | {shown}\n{blank} | {caret} {label}\n"


def caret_under(d: Diagnostic) -> str:
    return d.source[d.column - 1 : d.column - 1 + d.length]


def test_the_line_the_column_and_the_wording_are_the_persons():
    source = Source("float f(float x)\n{\n    return x + yy;\n}", "In[3]", 2)
    text = f'Failed to load slang module "{NAME}" from source\n' + message(
        NAME,
        4,
        16,
        "return x + yy;",
        "           ^^",
        "undefined identifier 'yy'.",
        "error[E30015]: undefined identifier",
    )
    assert parse(text + END, {NAME: source}) == (
        Diagnostic("error", "E30015", "undefined identifier 'yy'.", "In[3]", 4, 16, 2, "    return x + yy;"),
    )


def test_columns_count_characters_also_behind_tabs_and_other_letters():
    source = Source("\treturn /* é€😀 */ x +\tyy;", "In[3]", 2)
    column = source.text.index("yy") + 1
    text = message(NAME, 2, column, source.text.strip(), " " * (column - 2) + "^^", "undefined identifier 'yy'.",
                   "error[E30015]: undefined identifier")  # fmt: skip
    (d,) = parse(text + END, {NAME: source})
    assert (d.column, d.length, caret_under(d)) == (column, 2, "yy")
    assert d.render().splitlines()[-1].index("^") == d.render().splitlines()[-2].index("yy")


def test_the_header_stays_where_the_label_says_less():
    source = Source("float f(float x) { return x; }\nfloat f(float x) { return x; }", "In[3]", 1)
    text = (
        f"error[E30201]: function 'f' already has a body\n --> {NAME}:2:7\n  |\n2 | float f(float x) {{ return x; }}\n"
        f"  |       ^ redeclared here\n--'\n\nnote: see previous definition of 'f'\n --- {NAME}:1:7\n  |\n"
        "1 | float f(float x) { return x; }\n  |       -\n" + END
    )
    (d,) = parse(text, {NAME: source})
    assert (d.message, d.line, d.column) == ("function 'f' already has a body", 2, 7)
    assert d.notes == (Diagnostic("note", "", "see previous definition of 'f'", "In[3]", 1, 7, 1, source.line(1)),)


def test_an_import_that_was_rewritten_does_not_shift_the_caret():
    source = Source('import foo; import "bar"; float f() { return yy; }', "In[3]", 2)
    compiled = f"import {NAME}; import {OTHER}; float f() {{ return yy; }}"
    column = compiled.index("yy") + 1
    text = message(NAME, 2, column, compiled, " " * (column - 1) + "^^", "undefined identifier 'yy'.",
                   "error[E30015]: undefined identifier")  # fmt: skip
    (d,) = parse(text + END, {NAME: source})
    assert caret_under(d) == "yy"


def test_a_caret_on_a_rewritten_name_covers_the_name_as_written():
    source = Source("    import foo;", "In[3]", 2)
    text = message(NAME, 2, 12, f"import {OTHER};", "       " + "^" * 14, f"cannot open file '{OTHER}.slang'",
                   f"error[E00001]: cannot open file '{OTHER}.slang'")  # fmt: skip
    (d,) = parse(text + END, {NAME: source, OTHER: Source("", "foo")})
    assert (caret_under(d), d.column, d.message) == ("foo", 12, "cannot open file 'foo'")


def test_a_lexer_error_has_the_older_form_and_a_caret_in_bytes():
    source = Source("\t  /* é€😀 */\treturn `x;", "In[3]", 4)
    text = (
        f"{NAME}(4): error 10000: illegal character '`'\n      /* é€😀 */   return `x;\n"
        "                               ^\n"
    )
    (d,) = parse(text + END, {NAME: source})
    assert (d.code, d.message, d.line, caret_under(d)) == ("E10000", "illegal character '`'", 4, "`")


def test_a_newline_in_a_literal_has_a_line_and_no_caret():
    source = Source('s = "abc;\n', "In[3]", 2)
    (d,) = parse(f"{NAME}(2): error 10005: newline in literal\n\n^\n" + END, {NAME: source})
    assert (d.code, d.line, d.column, d.source) == ("E10005", 2, 0, 's = "abc;')


def test_late_errors_come_out_of_a_runtime_error():
    source = Source("float f(float x) { if (x>0) return 1.0; }", "In[3]", 2)
    text = (
        "m_rhi_command_encoder->finish(rhi_command_buffer.writeRef()) failed with error: -2147467259 (SLANG_FAIL)\n\n"
        "RHI messages:\nslang: "
        + message(NAME, 2, 7, source.text, "      ^", "non-void function must return in all cases for target 'spirv'",
                  "error[E41009]: non-void function must return")
        + "--'\n\n\n/project/src/sgl/device/command.cpp:963 in function finish\n"
    )  # fmt: skip
    (d,) = parse(text, {NAME: source})
    assert (d.code, d.message) == ("E41009", "non-void function must return in all cases for target 'spirv'")
    assert (d.file, d.line, d.column) == ("In[3]", 2, 7)


def test_the_loggers_warnings_lose_their_colours():
    source = Source("float f(float x) { int i = x; return x; }", "In[3]", 2)
    text = "[\x1b[33mWARN\x1b[0m] Slang compiler warnings:\n" + message(
        NAME, 2, 28, source.text, " " * 27 + "^", "implicit conversion from 'float' to 'int' is not recommended",
        "\x1b[33mwarning[E30081]\x1b[0m: implicit conversion not recommended") + "--'\n"  # fmt: skip
    (d,) = parse(text, {NAME: source})
    assert (d.severity, d.code, caret_under(d)) == ("warning", "E30081", "x")
    assert d.message == "implicit conversion from 'float' to 'int' is not recommended"


def test_generated_code_has_no_place_but_takes_that_of_a_note_in_the_cell():
    source = Source("float f(float x) { return x + cudaThreadIdx().x; }", "In[3]", 2)
    text = (
        message(GENERATED, 26, 6, "void compute_main()", "     ^^^^^^^^^^^^", "entrypoint 'compute_main' uses features that "
                "are not available in 'compute' stage for 'spirv' compilation target.",
                "error[E36107]: unavailable features in entry point")
        + "--'\nnote: see using of 'cudaThreadIdx'\n"
        + f" --> {NAME}:2:31\n  |\n2 | {source.text}\n  | {' ' * 30}^^^^^^^^^^^^^\n--'\n"
        + "note: see definition of 'cudaThreadIdx'\n--> hlsl.meta.slang:25869:7\n-'\n" + END
    )  # fmt: skip
    (d,) = parse(text, {NAME: source})
    assert d.message.startswith("entrypoint 'compute_main' uses features")
    assert (d.file, d.line, caret_under(d)) == ("In[3]", 2, "cudaThreadIdx")
    assert [n.message for n in d.notes] == ["see using of 'cudaThreadIdx'"]
    (bare,) = parse(text, {})
    assert (bare.file, bare.line, bare.source) == ("", 0, "")


def test_other_files_keep_their_name_without_its_folders():
    text = message("/home/me/lib/bad.slang", 3, 9, "return qq;", "       ^^", "undefined identifier 'qq'.",
                   "error[E30015]: undefined identifier")  # fmt: skip
    text += (
        f'--\'\nerror[E39999]: import failed due to compilation error\n --> {NAME}:2:8\n  |\n2 | import "lib/bad";\n'
        "  |        ^^^^^^^^^ import of module '/home/me/lib/bad' failed because of a compilation error\n" + END
    )
    (d,) = parse(text, {NAME: Source('import "lib/bad";', "In[3]", 2)})
    assert (d.file, d.line, d.column, caret_under(d)) == ("bad.slang", 3, 9, "qq")
    assert [(n.message, n.file, n.line) for n in d.notes] == [("imported here", "In[3]", 2)]


def test_notes_about_slangs_own_library_are_few():
    text = "error[E39999]: no overload for '*' applicable to arguments of type (A, A)\n" + "".join(
        f"note[E40011]: candidate: func operator*({i})\n--> core.meta.slang:{i}:3\n-'\n" for i in range(50)
    )
    (d,) = parse(text, {})
    assert [n.message[-4:-1] for n in d.notes] == ["*(0", "*(1", "*(2"]


def test_repetitions_and_echoes_of_a_syntax_error_are_dropped():
    source = Source("float f(float x) { return x**y; }", "In[3]", 2)
    syntax = message(NAME, 2, 30, source.text, " " * 29 + "^", "unexpected identifier, expected ';'",
                     "error[E20001]: unexpected token")  # fmt: skip
    echo = message(NAME, 2, 27, source.text, " " * 26 + "^", "expected a type, got a 'float' for 'x'",
                   "error[E30060]: expected a type")  # fmt: skip
    found = parse(syntax + "--'\n" + echo + "--'\n" + syntax + END, {NAME: source})
    assert [d.code for d in found] == ["E20001"]


def test_an_unknown_name_beside_a_syntax_error_stays():
    source = Source("if (x) return 1; elif (x) return 2;", "In[3]", 2)
    first = message(NAME, 2, 27, source.text, " " * 26 + "^", "unexpected identifier, expected ';'",
                    "error[E20001]: unexpected token")  # fmt: skip
    second = message(NAME, 2, 18, source.text, " " * 17 + "^^^^", "undefined identifier 'elif'.",
                     "error[E30015]: undefined identifier")  # fmt: skip
    assert [d.code for d in parse(first + "--'\n" + second + END, {NAME: source})] == ["E20001", "E30015"]


def test_an_internal_error_says_what_it_is_in_one_line():
    text = (
        "RHI messages:\nslang: error[E99997]: Slang compilation aborted due to an exception of N5Slang13InternalErrorE "
        "unimplemented: Unhandled global inst in spirv-emit:\nlet  %1\t: _\t= neg(<null>)\n\nFor assistance, file an "
        "issue on GitHub (https://github.com/shader-slang/slang/issues)\n\n/project/src/sgl/a.cpp:963 in function f"
    )
    (d,) = parse(text, {})
    assert (d.code, d.line) == ("E99997", 0)
    assert d.message == (
        "internal error of the compiler: unimplemented: Unhandled global inst in spirv-emit: let %1 : _ = neg(<null>)"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("something odd\n", "something odd"),
        ("", None),
        ("/project/src/sgl/a.cpp:9 in function f\n", None),
        ("m_rhi_queue->submit(x) failed with error: -13 (unknown)\n\n/project/src/a.cpp:9 in function f",
         "the driver refused this (error -13, unknown)"),
        ("fatal error[E40003]: compilation ceased", "compilation ceased"),
    ],
)  # fmt: skip
def test_other_texts_become_one_diagnostic(text: str, expected: str | None):
    found = parse(text, {})
    assert [d.message for d in found] == ([expected] if expected else [])
    assert all(d.severity == "error" for d in found)


LINES = st.sampled_from(
    [
        "error[E30015]: undefined identifier", "note: did you mean 'x'?", f" --> {NAME}:2:9999999999", f" --> {NAME}:2:3",
        f" --- {NAME}:99:0", "  |", "3 | x", "  |    ^^^ label", "--'", f"{NAME}(2): error 10000: illegal", "      ^~",
        "warning: ", "slang: error[E99997]: x", "abort compilation: fatal error[E1]: x", "error:", "\x1b[31m", "",
        f"error[E20001]: {NAME}", f"{GENERATED}(3): error 1: x", f" --> {GENERATED}:1:1",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(st.one_of(LINES, st.text(max_size=20)), max_size=20).map("\n".join)))
def test_parse_never_raises_and_every_caret_is_inside_its_line(text: str):
    source = Source("float é;\n\tx", "In[3]", 2)
    for d in parse(text, {NAME: source}):
        d.render()
        if d.file == "In[3]" and d.line:
            assert 0 <= d.column <= len(d.source) + 1
            assert d.source == source.line(d.line)


def test_long_messages_are_broken_at_spaces_but_not_within_code() -> None:
    code, remedy = "`float3(strength) * colour`", "y.grad.copy_from_numpy(np.ones(shape, np.float32)); " * 4
    error = SlangNbError(f"{'the gradient is wrong, ' * 3}{code} is right for the scalar", remedy=remedy)
    first, second, last = error.render(colour=False).splitlines()
    assert first == "SlangNbError: the gradient is wrong, the gradient is wrong, the gradient is wrong,"
    assert second == f"    {code} is right for the scalar"
    # A remedy is there to be copied.
    assert last == f"  remedy: {remedy}"
    assert str(error).count("\n") == 1
    found = Diagnostic("error", "E1", "word " * 40).render()
    assert max(map(len, found.splitlines())) <= 100 and found.count("word") == 40
    # The source line is as it is, for its caret.
    assert "x" * 150 in Diagnostic("error", "E1", "short", line=1, column=3, source="x" * 150).render()
