"""Names that another cell has: the remedy says what to import."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import slangnb as sn

TOOLS = "float twice(float x) { return 2 * x; }"


@pytest.fixture(scope="module")
def cells() -> Iterator[sn.Session]:
    """A session of its own: what other tests compile would be other cells."""
    made = sn.Session(os.environ.get("SLANGNB_TEST_BACKEND"), guard_seconds=60)
    yield made
    made.close()


def remedies(cells: sn.Session, text: str, name: str | None = None) -> list[str]:
    with pytest.raises(sn.CompileError) as caught:
        cells.compile(text, name)
    return [d.remedy for d in caught.value.diagnostics]


@pytest.mark.parametrize("guarded", [True, False])
def test_a_misspelt_import_names_the_cell(cells: sn.Session, monkeypatch: pytest.MonkeyPatch, guarded: bool) -> None:
    monkeypatch.setattr(cells, "guard_enabled", guarded)
    cells.compile("float foo(float x) { return x; }", "helpers")
    text = f"import helper;\nfloat g(float x) {{ return x; }} // {guarded}"
    assert remedies(cells, text) == ["did you mean `import helpers;`?"]


def test_a_function_of_another_cell_is_imported(cells: sn.Session) -> None:
    cells.compile(TOOLS, "tools")
    use = "float thrice(float x) { return twice(x) + x; }"
    say = "`twice` is in cell `tools`: write `import tools;` at the top"
    assert remedies(cells, use) == [say]
    assert remedies(cells, "import Tools;\n" + use) == ["did you mean `import tools;`?", say]
    near = "did you mean `twice` of cell `tools`? Write `import tools;` at the top"
    assert remedies(cells, use.replace("twice", "twise")) == [near]
    assert remedies(cells, "import tools;\n" + use.replace("twice", "twise")) == ["did you mean `twice`?"]
    assert remedies(cells, "import tools;\n" + use.replace("twice", "tools.twice")) == [
        "write `twice` without `tools.`"
    ]
    assert cells.compile("import tools;\n" + use).thrice(2.0) == 6.0


def test_a_function_of_a_cell_without_a_name(cells: sn.Session) -> None:
    kept = cells.compile("float poly(float x) { return x; }", label="In[5]")
    say = "`poly` is in In[5], which has no name: write `%%slang NAME` there, and `import NAME;` here"
    assert remedies(cells, "float g(float x) { return poly(x); }") == [say]
    assert kept.poly(1.0) == 1.0


def test_an_earlier_text_of_the_same_cell_is_no_other_cell(cells: sn.Session) -> None:
    both = "float triple(float x) { return 3 * x; }\nfloat g(float x) { return triple(x); }"
    kept = cells.compile(both, label="In[6]")
    changed = both.replace("float triple", "float stretched")
    say = ["declare `triple`, or import the module that has it"]
    assert remedies(cells, changed) == say
    assert kept.g(1.0) == 3.0
    cells.compile(both, "stretching")
    assert remedies(cells, changed, "stretching") == say


def test_a_source_without_a_name_cannot_be_imported(cells: sn.Session) -> None:
    kept = cells.compile("float thricefold(float x) { return 3 * x; }")
    assert remedies(cells, "float g(float x) { return thricefold(x); }") == [
        "`thricefold` is in `source`, which has no name: write `%%slang NAME` there, and `import NAME;` here"
    ]
    assert remedies(cells, "float g(float x) { return thricefol(x); }") == [
        "declare `thricefol`, or import the module that has it"
    ]
    assert kept.thricefold(1.0) == 3.0


def test_one_public_declaration_hides_all_others(cells: sn.Session) -> None:
    made = cells.compile("public float shown(float x) { return x; }\nfloat hidden(float x) { return x; }", "halfway")
    say = "write `public` before `hidden`, too: where one declaration of a cell is public, all others are for that "
    assert remedies(cells, "import halfway;\nfloat g(float x) { return hidden(x); }")[0].startswith(say)
    assert made.shown(2.0) == 2.0
    with pytest.raises(sn.CompileError) as caught:
        made.hidden(2.0)
    assert caught.value.diagnostics[0].remedy.startswith(say)


def test_a_builtin_that_another_cell_has_too(cells: sn.Session) -> None:
    cells.compile("float step(float2 v) { return v.x; }", "stepping")
    text = "[Differentiable] float f(float x) { return step(0.5, x) * x; }"
    builtin = "Slang's `step` has no derivative: write `no_diff step(...)` where none is wanted"
    assert remedies(cells, text) == [builtin]
    assert remedies(cells, "import slangpy;\n" + text) == [builtin]
    imported = text.replace("0.5, x", "float2(x)")
    assert remedies(cells, "import stepping;\n" + imported)[0].startswith("write `[Differentiable]` on the line above")
