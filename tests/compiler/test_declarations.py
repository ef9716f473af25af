# Long lines here are texts as the compiler or a person writes them.

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slangnb.compiler.reading.declarations import Declaration, Parameter, declarations

PIECES = [
    "float ",
    "f",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    "=",
    "struct A ",
    "namespace n ",
    "::",
]
PIECES += [
    "enum E ",
    "extension A ",
    "[Differentiable]\n",
    "/// doc\n",
    "/*",
    "*/",
    '"',
    "#x\n",
    ":",
    "->",
    "operator",
]


def one(text: str) -> Declaration:
    found = declarations(text)
    assert len(found) == 1, found
    return found[0]


def test_a_function_with_everything():
    text = (
        "// License of the file.\n\n"
        "/// Weighted sum.\n///   Second line.\n"
        "[Differentiable]\n[MaxIters(3)]\n"
        "public float f(no_diff int n,\n"
        "        inout float3 x = float3(0, 1, g(2, 3)), // a note\n"
        "        float a[4], IDiffTensor<float, 2> t)\n"
        "{\n    return x.x;\n}\n"
    )
    f = one(text)
    assert (f.name, f.kind, f.line, f.type) == ("f", "function", 7, "float")
    assert f.doc == "Weighted sum.\n  Second line."
    assert f.attributes == ("Differentiable", "MaxIters(3)")
    assert f.signature == (
        "public float f(no_diff int n, inout float3 x = float3(0, 1, g(2, 3)), float a[4], IDiffTensor<float, 2> t)"
    )
    assert f.parameters == (
        Parameter("n", "int", "", ("no_diff",)),
        Parameter("x", "float3", "float3(0, 1, g(2, 3))", ("inout",)),
        Parameter("a", "float[4]"),
        Parameter("t", "IDiffTensor<float, 2>"),
    )
    assert text[slice(*f.body)] == "{\n    return x.x;\n}"
    assert text[slice(*f.span)].startswith("[Differentiable]")


@pytest.mark.parametrize(
    ("comment", "doc"),
    [
        ("/// One.\n", "One."),
        ("//! One.\n", "One."),
        ("// One.\n// Two.\n", "One.\nTwo."),
        ("/** One. */\n", "One."),
        ("/**\n * One.\n *   Two.\n */\n", "One.\n  Two."),
        ("/* One. */ ", "One."),
        ("// Not this.\n\n", ""),
        ("int a; // Not this.\n", ""),
        ("#define A\n", ""),
    ],
)
def test_the_comment_directly_above_is_the_doc(comment: str, doc: str):
    assert declarations(comment + "float f() { return 1; }")[-1].doc == doc


def test_overloads_stay_apart_and_a_prototype_gives_way_to_its_definition():
    found = declarations(
        "float f(float x);\nfloat f(float x) { return x; }\nfloat f(float2 x) { return x.x; }\nint g();"
    )
    assert [(d.name, d.line, d.parameters[0].type if d.parameters else "") for d in found] == [
        ("f", 2, "float"),
        ("f", 3, "float2"),
        ("g", 4, ""),
    ]


def test_structs_have_fields_methods_and_what_extensions_add():
    found = declarations(
        "struct A : IDifferentiable, IShape\n{\n    float x, y;\n    float z[3]; // size\n"
        "    [Differentiable] float area<T : IFloat>(T k) { return x; }\n    __init(float q) { x = q; }\n}\n"
        "extension A : IBar { float more() { return 1; } }"
    )
    assert [d.name for d in found] == ["A"]
    assert found[0].bases == ("IDifferentiable", "IShape")
    assert [(c.name, c.kind, c.type, c.line) for c in found[0].children] == [
        ("x", "field", "float", 3),
        ("y", "field", "float", 3),
        ("z", "field", "float[3]", 4),
        ("area", "function", "float", 5),
        ("__init", "function", "", 6),
        ("more", "function", "float", 8),
    ]
    assert found[0].children[3].attributes == ("Differentiable",)


def test_namespaces_interfaces_enums_and_globals():
    found = declarations(
        "namespace geo { float dist(float2 p) { return 1; } namespace deep { static float q = 1; } }\n"
        "interface IShape { float area(); }\nenum class E : uint { P = 1, Q }\n"
        "static const float table[2] = { 1, 2 };\nlet c = 3;\n[[vk::binding(0, 1)]] RWTexture2D<float4> tex;"
    )
    assert [(d.kind, d.name, d.type) for d in found] == [
        ("function", "geo::dist", "float"),
        ("global", "geo::deep::q", "float"),
        ("interface", "IShape", ""),
        ("enum", "E", ""),
        ("global", "table", "float[2]"),
        ("global", "c", ""),
        ("global", "tex", "RWTexture2D<float4>"),
    ]
    assert [c.name for c in found[3].children] == ["P", "Q"]
    assert [c.name for c in found[2].children] == ["area"]


def test_entry_points_and_custom_derivatives_show_in_the_attributes():
    found = declarations(
        '[shader("compute")] [numthreads(8, 8, 1)]\nvoid main(uint3 id : SV_DispatchThreadID) { }\n'
        "[BackwardDerivative(bf)] float f(float x) { return x; }"
    )
    assert found[0].attributes == ('shader("compute")', "numthreads(8, 8, 1)")
    assert found[0].parameters == (Parameter("id", "uint3"),)
    assert found[1].attributes == ("BackwardDerivative(bf)",)


def test_generics_operators_and_the_func_form():
    found = declarations(
        "T sum<T, let N : int = 3>(T a[N], const float k = 1 < 2 ? 1 : 0, float z = 1) { return a[0]; }\n"
        "__generic<T : IFloat> T gen(T x) where T : IFoo { return x; }\n"
        "func modern(x : float, y : vector<float, 3> = float3(1)) -> float { return x; }\n"
        "bool operator<(A a, A b) { return true; }\nbool operator==(A a, A b) { return true; }\nvoid none(void) { }"
    )
    assert [d.name for d in found] == ["sum", "gen", "modern", "operator<", "operator==", "none"]
    assert found[0].parameters == (
        Parameter("a", "T[N]"),
        Parameter("k", "float", "1 < 2 ? 1 : 0", ("const",)),
        Parameter("z", "float", "1"),
    )
    assert found[2].type == "float"
    assert found[2].parameters == (Parameter("x", "float"), Parameter("y", "vector<float, 3>", "float3(1)"))
    assert found[5].parameters == ()


def test_comments_strings_and_preprocessor_lines_declare_nothing():
    assert (
        declarations('// float f() { }\n/* float g() { } */\n#define H float h() { }\nimport foo;\n"float i() { }"')
        == ()
    )


def test_a_text_that_is_cut_off_still_shows_what_it_starts():
    assert one("float f(float x, int n) { return x *").parameters == (
        Parameter("x", "float"),
        Parameter("n", "int"),
    )


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=50).map("".join)))
def test_declarations_never_raise(text: str):
    for d in declarations(text):
        assert 0 <= d.span[0] < d.span[1] <= len(text)
        assert 1 <= d.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    "piece", ["f(", "<", "{", "struct A{", "namespace a{", "[", "float f(float x) { }\n", "a,", "// c\n"]
)
def test_declarations_take_linear_time(piece: str):
    text = piece * (100_000 // len(piece))
    start = time.perf_counter()
    declarations(text)
    assert time.perf_counter() - start < 8
