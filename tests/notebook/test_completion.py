"""What the Tab key offers in ``%%slang`` cells and on ``%slang`` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from jupyter_client.manager import start_new_kernel

from slangnb.notebook.candidates import Known, candidates

KNOWN = Known(
    commands=("load", "use", "reset"),
    options=("--backend", "--check"),
    functions=("helping",),
    modules={"helpers": ("helping", "Ray"), "/home/files/x.slang": ("from_file",)},
)
BODY = "%%slang\n"


def offered(marked: str) -> dict[str, str]:
    """Give what is offered at the bar."""
    at = marked.index("|")
    return candidates(marked.replace("|", ""), at, KNOWN).fitting()


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("%%slang --|", {"--backend", "--check"}),
        ("%%slang -q |\nfloat f();", {"--backend", "--check"}),
        ("%%slang |", {"helpers", "--backend", "--check"}),
        ("%%slang -n |", {"helpers"}),
        ("%%slang -b soft|", {"software"}),
        ("%%slang --show sp|", {"spirv-asm"}),
        ("%%slang -o first,se|\nfloat first() { return 1; }\nfloat second() { return 2; }", {"second"}),
        ("%slang |", {"load", "use", "reset"}),
        ("x = 1\n  %slang re|", {"reset"}),
        ("%slang use v|", {"vulkan"}),
        ("%slang source h|", {"helping"}),
        ("%slang code helping --b|", {"--bwd"}),
        ("%slang code helping --target w|", {"wgsl"}),
        ("%%slan|", set()),
        ("sl = |", set()),
    ],
)
def test_words_of_the_lines(marked: str, expected: set[str]) -> None:
    assert set(offered(marked)) == expected


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        (BODY + "float f(float radius) { return rad|; }", {"radians": "function", "radius": "variable"}),
        (BODY + "float f(float x) { return smooth| }", {"smoothstep": "function"}),
        (BODY + "float scaled(float v) { return v; }\nfloat f() { return sca|", {"scaled": "function"}),
        ("\n\n" + BODY + "import helpers;\nfloat f() { return helpi|", {"helping": "function"}),
        (BODY + "import hel|", {"helpers": "module"}),
        (BODY + "import slangp|", {"slangpy": "module"}),
        (BODY + "struct Disc { float width; };\nfloat f(Disc d) { return d.w|", {"width": "field"}),
        (BODY + "struct Disc { float width; };\nfloat f(Di| d)", {"Disc": "class", "Differential": "class"}),
        (BODY + "[PreferR|", {"PreferRecompute": "property"}),
        (BODY + "float3x|", {"float3x2": "class", "float3x3": "class", "float3x4": "class"}),
        (BODY + "retu|", {"return": "keyword"}),
        (BODY + "// smooth|", {}),
        (BODY + 'printf("smooth|', {}),
        (BODY + "float x = 1.0f|", {}),
    ],
)
def test_words_of_slang_code(marked: str, expected: dict[str, str]) -> None:
    found = offered(marked)
    assert {w: found.get(w) for w in expected} == expected
    assert expected or not found


def test_files_to_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shaders" / "more").mkdir(parents=True)
    (tmp_path / "shaders" / "brdf.slang").touch()
    (tmp_path / "own.slang").touch()
    (tmp_path / "other.txt").touch()
    monkeypatch.chdir(tmp_path)
    assert set(offered("%slang load |")) == {"own.slang", "shaders/brdf.slang", "shaders/"}
    assert set(offered("%slang load shaders/|")) == {"shaders/brdf.slang", "shaders/more/"}
    assert set(offered(BODY + "import br|")) == {"brdf"}


def test_folders_to_include(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shaders" / "more").mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "own.slang").touch()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert set(offered("%%slang -I |")) == {"../"}
    assert set(offered("%%slang -q --include ../|\nfloat f();")) == {"../shaders/", "../notebooks/"}
    assert set(offered("%%slang -I ../shaders/m|")) == {"../shaders/more/"}
    assert set(offered("%%slang -I nowhere/|")) == set()


XYZ = ["x", "y", "z", "xy", "xz", "yz", "xyz", "r", "g", "b", "rgb"]
STRUCTS = "struct Disc { float width; float3 at; };\nstruct Ring { float hole; };\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("float f(float3 v) { return v.|", XYZ),
        ("float f(float a, no_diff float3 v) { return dot(v, v) * v.x|", ["xy", "xz", "xyz"]),
        ("float f() { vector<float, 3> v = 0; return v.|", XYZ),
        ("float f() { var v = float3(1, 2, 3); return v.|", XYZ),
        ("float3 g() { return 1; }\nfloat f() { let v = g(); return v.|", XYZ),
        ("float f(float3 v) { float2 v; v.|", ["x", "y", "xy", "r", "g", "rg"]),
        (f"{STRUCTS}float f(Ring r) {{ return r.|", ["hole"]),
        (f"{STRUCTS}float f(Disc d) {{ return d.at.|", XYZ),
        (f"{STRUCTS}float f(Disc d) {{ return some(d).|", ["width", "at", "hole", "x", "y", "z", "w"]),
        ("float f(DifferentialPair<float> dp) { return dp.|", ["p", "d"]),
        ("float f(IDiffTensor<float, 2> t) { return t.|", ["shape"]),
        ("float f(float x) { return x.|", []),
    ],
)
def test_members(code: str, expected: list[str]) -> None:
    assert list(offered(BODY + code)) == expected


def in_shell(shell: Any, text: str) -> list[str]:
    with provisionalcompleter():
        return [c.text for c in shell.Completer.completions(text, len(text))]


def test_the_shell_offers_slang_alone(shell: Any) -> None:
    shell.run_cell("%%slang completing\npublic float completed_there(float x) { return x; }").raise_error()
    shell.run_cell("radio = 1")
    assert in_shell(shell, "%%slang --ch") == ["--check"]
    assert in_shell(shell, "%%slang compl") == ["completing"]
    assert in_shell(shell, BODY + "float f(float x) { return rad") == ["radians"]
    assert in_shell(shell, BODY + "import completing;\nfloat f(float x) { return completed_") == ["completed_there"]
    assert in_shell(shell, "%slang us") == ["use"]
    assert in_shell(shell, BODY + "float f(float2 radio) { return radio.") == ["g", "r", "rg", "x", "xy", "y"]
    assert all(word.startswith("../") for word in in_shell(shell, "%%slang -I ../"))
    assert "radio" in in_shell(shell, "y = rad")


def test_a_kernel_answers() -> None:
    manager, started = start_new_kernel()
    client: Any = started
    try:
        client.execute("%load_ext slangnb", reply=True, timeout=120)
        for text, expected, start in (
            ("%%slang --bac", ["--backend"], 8),
            (BODY + "float f(float x)\n{\n    return satur", ["saturate"], 38),
            ("%slang doc", ["doctor"], 7),
        ):
            content = client.complete(text, len(text), reply=True, timeout=60)["content"]
            assert (content["matches"], content["cursor_start"]) == (expected, start)
        client.execute("%unload_ext slangnb", reply=True, timeout=60)
        assert "--backend" not in client.complete("%%slang --bac", 13, reply=True, timeout=60)["content"]["matches"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
