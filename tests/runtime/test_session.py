"""Sessions: modules, imports between cells and files, edits, backends, interruption, what is left on disk."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import slangnb as sn
from slangnb.compiler.graph import Graph, Unit
from slangnb.compiler.source import Source
from slangnb.runtime.current import has_session, set_session
from slangnb.runtime.current import session as current
from slangnb.runtime.session import Session


def test_diagnostics_have_the_lines_of_the_cell(session: Any) -> None:
    with pytest.raises(sn.CompileError) as caught:
        session.compile("float f(float x)\n{\n\treturn x + yy;\n}", label="In[3]", first_line=2)
    (d,) = caught.value.diagnostics
    assert (d.severity, d.code, d.file, d.line, d.column, d.length) == ("error", "E30015", "In[3]", 4, 13, 2)
    assert d.source == "\treturn x + yy;"


def test_warnings_are_given_once_for_each_compile(session: Any) -> None:
    session.take_warnings()
    text = "[Differentiable] float warn_once(float x) { int i = x; return i + pow(x, 2); }"
    for label in ("In[3]", "In[3]", "In[4]"):  # of the second on, nothing is built
        session.compile(text, label=label, warn=False)
        assert [(w.code, w.file) for w in session.take_warnings()] == [("E30081", label), ("", label)]
        assert session.take_warnings() == []
    session.compile(text, warn=False)
    session.compile(text, warn=False)
    assert len(session.take_warnings()) == 2


def test_warnings_of_an_imported_file_are_given_when_it_is_built(session: Any, tmp_path: Path) -> None:
    session.take_warnings()
    file = tmp_path / "warning_file.slang"
    file.write_text("public float odd_file(float x) { int i = x; return i; }")
    text = "import warning_file; float of_file(float x) { return odd_file(x); }"
    session.compile(text, include=(tmp_path,), warn=False)
    assert [w.file for w in session.take_warnings()] == ["warning_file.slang"]
    session.compile(text, include=(tmp_path,), warn=False)
    assert session.take_warnings() == []
    session.load(file, warn=False)
    assert [w.file for w in session.take_warnings()] == ["warning_file.slang"]


def test_scripts_are_warned_at_their_own_line(session: Any, tmp_path: Path) -> None:
    text = "[Differentiable] float warned(float x) { return pow(x, 2); }"
    for _ in range(2):
        with pytest.warns(sn.CompileWarning, match=r"(?s)is 0 where the base is negative.*write `x \* x`") as said:
            session.compile(text)
        assert [w.filename for w in said] == [__file__]
    (tmp_path / "warned.slang").write_text(text.replace("warned", "warned_too"))
    with pytest.warns(sn.CompileWarning, match="warned.slang"):
        session.load(tmp_path / "warned.slang")
    assert session.take_warnings() == []


def test_missing_return_is_an_error_on_every_backend(session: Any) -> None:
    text = "float sometimes(float x)\n{\n    if (x > 0)\n        return 1.0;\n}"
    for _ in range(2):
        with pytest.raises(sn.CompileError, match=r"In\[5\], line 1") as caught:
            session.compile(text, label="In[5]")
        assert caught.value.diagnostics[0].severity == "error"
        assert caught.value.diagnostics[0].remedy


def test_target_errors_of_the_first_call_are_errors_of_the_cell(session: Any) -> None:
    text = "float down(float x)\n{\n    return x < 0 ? x : down(x - 1);\n}"
    down = session.compile(text, label="In[6]").down
    with pytest.raises(sn.CompileError, match=r"(?s)E55201.*In\[6\], line 3.*remedy"):
        down(2.0)


def test_functions_are_updated_in_place(session: Any) -> None:
    f = session.compile("float f(float x) { return x + 1; }", "in_place").f
    mapped = f.return_type("numpy")
    x = np.zeros(2, np.float32)
    assert f(1.0) == 2.0 and mapped(x).tolist() == [1.0, 1.0]
    session.compile("float f(float x) { return x + 5; }", "in_place")
    assert f(1.0) == 6.0 and mapped(x).tolist() == [5.0, 5.0]
    session.compile("float g(float x) { return x; }", "in_place")
    with pytest.raises(sn.CallError, match="f is no longer defined in in_place") as error:
        f(1.0)
    assert error.value.remedy == "it has g now"


def test_a_failed_edit_changes_nothing(session: Any) -> None:
    f = session.compile("float f(float x) { return x + 1; }", "kept").f
    with pytest.raises(sn.CompileError):
        session.compile("float f(float x) { return x + ; }", "kept")
    assert f(1.0) == 2.0


def test_chain_of_imports(session: Any) -> None:
    session.compile("public float one(float x) { return x + 1; }", "chain_a")
    session.compile("import chain_a; public float two(float x) { return 2 * one(x); }", "chain_b")
    f = session.compile("import chain_b; float three(float x) { return 3 * two(x); }").three
    assert f(1.0) == 12.0
    session.compile("public float one(float x) { return x + 2; }", "chain_a")
    assert f(1.0) == 18.0


def test_structs_of_an_imported_cell(session: Any) -> None:
    session.compile("public struct Ray { public float t; public float bias; };", "ray_cell")
    f = session.compile("import ray_cell; float end_of(Ray r) { return r.t + r.bias; }").end_of
    assert f({"t": 2.0, "bias": 0.5}) == 2.5


def test_dependents_come_in_the_order_of_their_cells() -> None:
    graph = Graph()
    graph.put(Unit("first", Source("", "first")))
    names = [f"cell_{i}" for i in (3, 1, 4, 5, 9, 2, 6, 8)]
    for name in names:
        graph.put(Unit(name, Source("", name), {"first": "first"}))
    graph.put(Unit("cell_1", Source("", "cell_1"), {"first": "first", "cell_6": "cell_6"}))
    found = [u.key for u in graph.dependents("first")]
    assert found == ["cell_3", "cell_6", *(n for n in names[1:] if n != "cell_6")]


def test_cycles_are_refused(session: Any) -> None:
    session.compile("public float a(float x) { return x; }", "cycle_a")
    session.compile("import cycle_a; public float b(float x) { return a(x); }", "cycle_b")
    with pytest.raises(sn.CompileError, match="circle: cycle_a -> cycle_b -> cycle_a") as caught:
        session.compile("// first\nimport cycle_b;\npublic float a(float x) { return b(x); }", "cycle_a")
    assert (caught.value.diagnostics[0].line, caught.value.diagnostics[0].column) == (2, 8)


@pytest.mark.parametrize("name", ["core", "slangpy", "tensor", "my cell", "1st"])
def test_names_that_cannot_be_imported_are_refused(session: Any, name: str) -> None:
    with pytest.raises(sn.CallError, match="name"):
        session.compile("float f(float x) { return x; }", name)


def test_files(session: Any, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shape = tmp_path / "deep" / "shape.slang"
    shape.write_text("import inner; public float area(float r) { return 3 * inner_square(r); }")
    (tmp_path / "deep" / "inner.slang").write_text("public float inner_square(float x) { return x * x; }")
    f = session.compile("import deep.shape; float twice(float r) { return 2 * area(r); }", include=(tmp_path,)).twice
    assert f(2.0) == 24.0
    shape.write_text("import inner; public float area(float r) { return 4 * inner_square(r); }")
    session.load(shape)
    assert f(2.0) == 32.0
    with pytest.raises(sn.CallError, match=r"(?s)no file.*did you mean shape\.slang"):
        session.load(tmp_path / "deep" / "shap.slang")


def test_an_error_in_an_imported_file_names_it(session: Any, tmp_path: Path) -> None:
    (tmp_path / "broken_file.slang").write_text("public float f(float x)\n{\n    return oops;\n}\n")
    with pytest.raises(sn.CompileError, match=r"broken_file\.slang, line 3"):
        session.compile("import broken_file; float g(float x) { return f(x); }", include=(tmp_path,))


def test_included_files_are_part_of_the_content(session: Any, tmp_path: Path) -> None:
    header = tmp_path / "scale.h"
    text = '#include "scale.h"\nfloat scaled(float x) { return SCALE * x; }'
    header.write_text("#define SCALE 2")
    assert session.compile(text, include=(tmp_path,)).scaled(3.0) == 6.0
    header.write_text("#define SCALE 5")
    assert session.compile(text, include=(tmp_path,)).scaled(3.0) == 15.0


def test_a_file_that_includes_itself_is_an_error(session: Any, tmp_path: Path) -> None:
    (tmp_path / "loop.h").write_text('#include "loop.h"\n')
    with pytest.raises(sn.CompileError, match=r"loop\.h includes itself"):
        session.compile('#include "loop.h"\nfloat f(float x) { return x; }', include=(tmp_path,))


def test_an_included_file_is_read_as_any_other(session: Any, tmp_path: Path) -> None:
    header = tmp_path / "read.h"
    text = '#include "read.h"\nfloat of_header(float x) { return FACTOR * x; }'
    header.write_text("#define FACTOR\u00a03", encoding="utf-8")  # a no-break space, which Slang refuses
    assert session.compile(text, include=(tmp_path,)).of_header(2.0) == 6.0
    header.write_bytes(b"#define FACTOR 3 // \xff")
    with pytest.raises(sn.CallError, match=r"read\.h cannot be read: 'utf-8' codec") as caught:
        session.compile(text, include=(tmp_path,))
    assert caught.value.remedy == "save it as UTF-8 text"


def test_a_file_that_cannot_be_read_breaks_what_needs_it_and_nothing_else(session: Any, tmp_path: Path) -> None:
    session.take_broken()
    helper = tmp_path / "lost_helper.slang"
    helper.write_text("public float helped() { return 1.0; }")
    session.compile("public float lost() { return 1.0; }", "lost_a")
    texts = {
        "lost_b": "import lost_a; import lost_helper; public float fb() { return lost() + helped(); }",
        "lost_c": "import lost_b; float fc() { return fb(); }",
        "lost_d": "import lost_a; float fd() { return lost(); }",
    }
    b, c, d = [session.compile(text, name, include=(tmp_path,)) for name, text in texts.items()]
    helper.write_bytes(b"\xff")
    session.compile("public float lost() { return 2.0; }", "lost_a")
    assert d.fd() == 2.0
    for call in (b.fb, c.fc, lambda: session.compile(texts["lost_c"] + " // again", "lost_c")):
        with pytest.raises(sn.CallError, match=r"lost_helper\.slang cannot be read"):
            call()
    assert [name for name, _ in session.take_broken()] == ["lost_b", "lost_c"]
    helper.write_text("public float helped() { return 5.0; }")
    session.compile("public float lost() { return 3.0; }", "lost_a")
    assert (b.fb(), c.fc(), d.fd()) == (8.0, 8.0, 3.0)


def test_what_imports_a_broken_cell_is_broken_without_the_guard_too(session: Any) -> None:
    other = Session(session.backend.key, guard=False)
    try:
        other.compile("public float gone() { return 1.0; }", "gone_a")
        other.compile("import gone_a; public float fb() { return gone(); }", "gone_b")
        f = other.compile("import gone_b; float fc() { return fb(); }", "gone_c").fc
        other.compile("public float come() { return 1.0; }", "gone_a")
        for call in (f, lambda: other.compile("import gone_b; float fd() { return fb(); }")):
            with pytest.raises(sn.CompileError, match=r"(?s)undefined identifier 'gone'.*gone_b, line 1"):
                call()
    finally:
        other.close()


def test_two_hundred_edits_are_never_stale(session: Any) -> None:
    session.compile("public float step_of(float x) { return x; }", "edited")
    user = session.compile("import edited; float use(float x) { return step_of(x); }").use
    for i in range(20):  # warm
        session.compile(f"public float step_of(float x) {{ return x + {i}.25; }}", "edited")
        assert user(1.0) == i + 1.25
    before = psutil.Process().memory_info().rss
    for i in range(20, 220):
        session.compile(f"public float step_of(float x) {{ return x + {i}.25; }}", "edited")
        assert user(1.0) == i + 1.25
    grown = (psutil.Process().memory_info().rss - before) / 200 / 2**20
    print(f"{grown:.1f} MiB for each edit")
    assert grown < 20  # two modules and a kernel for each edit; Slang never frees them


def test_unnamed_cells_die_with_their_functions(session: Any) -> None:
    units = len(session.units)
    made = [session.compile(f"float passing(float x) {{ return x + {i}; }}").passing for i in range(5)]
    assert made[4](1.0) == 5.0 and len(session.units) == units + 5
    del made
    gc.collect()
    assert len(session.units) <= units


def test_generic_and_overloaded_functions(session: Any) -> None:
    m = session.compile("""
T twice<T : __BuiltinFloatingPointType>(T x) { return x + x; }
float size(float x, float scale) { return abs(x) * scale; }
float size(float2 x) { return length(x); }
""")
    assert m.twice(1.5) == 3.0
    assert m.size(-2.0, 1.0) == 2.0
    assert m.size((3.0, 4.0)) == 5.0


def test_reflection(session: Any) -> None:
    f = session.compile("""
/// Blends two colours.
///
/// `t` is the weight of the second.
[Differentiable]
void blend(float3 a, inout float3 b, out float weight, no_diff float t)
{
    weight = t;
    b = a * (1 - t) + b * t;
}
""").blend
    signature = f.info.signature
    assert [(p.name, p.type.name, p.io, p.no_diff) for p in signature.parameters] == [
        ("a", "vector<float,3>", "in", False),
        ("b", "vector<float,3>", "inout", False),
        ("weight", "float", "out", False),
        ("t", "float", "in", True),
    ]
    assert f.info.differentiable and f.info.line == 6
    assert f.__doc__.startswith("void blend(float3 a, inout float3 b, out float weight, no_diff float t)\n\nBlends two")
    assert f.source.splitlines()[:2] == [
        "[Differentiable]",
        "void blend(float3 a, inout float3 b, out float weight, no_diff float t)",
    ]


def test_reflection_of_attributes_defaults_and_overloads(session: Any) -> None:
    m = session.compile("""
[__AttributeUsage(_AttributeTargets.Param)] struct RangeAttribute { float lo; float hi; };
[__AttributeUsage(_AttributeTargets.Function)] struct PlotAttribute { int points; };
[Plot(64)] float wave([Range(0.0, 5.0)] float a, float b = 2.0) { return a * b; }
[Differentiable] float pick(float x, no_diff float y) { return x; }
[Differentiable] float pick(no_diff float2 x, float y) { return y; }
""")
    a, b = m.wave.info.signature.parameters
    assert m.wave.info.attributes == ("Plot(64)",)
    assert (a.attributes, a.default, b.attributes, b.default) == (("Range(0.0, 5.0)",), "", (), "2.0")
    assert [[p.no_diff for p in s.parameters] for s in m.pick.info.overloads] == [[False, True], [True, False]]
    assert m.wave(3.0, 4.0) == 12.0


def test_waiting_can_be_interrupted(session: Any) -> None:
    start = time.perf_counter()
    session.wait()
    assert time.perf_counter() - start < 5


def test_unwritable_cache_only_warns(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    code = (
        "import warnings; warnings.simplefilter('always')\n"
        "import slangnb as sn\n"
        "print(sn.session().compile('float f(float x) { return x; }').f(2.0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "SLANGNB_CACHE": str(blocked / "cache"), "SLANGNB_GUARD": "off"},
        check=False,
    )
    assert done.stdout.strip() == "2.0", done.stderr
    assert done.stderr.count("slangnb cannot write its cache folder") == 1


def test_two_processes_share_the_cache(tmp_path: Path) -> None:
    code = (
        "import slangnb as sn, sys\n"
        "m = sn.session().compile('float f(float x) { return 3 * x; } float g(float x) { return x + 7; }')\n"
        "print(m.f(2.0), m.g(1.0))"
    )
    env = {**os.environ, "SLANGNB_CACHE": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=env) for _ in range(2)
    ]
    assert [p.communicate(timeout=120)[0].strip() for p in running] == ["6.0 8.0"] * 2
    assert [p.returncode for p in running] == [0, 0]


def test_guard_off(session: Any) -> None:
    other = Session(session.backend.key, guard=False)
    try:
        assert other.guard.pid is None
        assert other.compile("float f(float x) { return x + 1; }").f(1.0) == 2.0
        for _ in range(2):
            with pytest.raises(sn.CompileError, match="undefined identifier"):
                other.compile("float f(float x) { return x + oops; }")
        mine = sn.tensor([1.0], session=other)
        m = session.compile("""
            import slangpy;
            [Differentiable] float f(float x) { return x + 1; }
            [Differentiable] float g(int i, Tensor<float, 1> x, float a) { return x[i] * a; }
        """)
        for call in (lambda: m.f(mine), lambda: sn.grad(m.f)(mine), lambda: sn.grad(m.g)(0, mine, 1.0)):
            with pytest.raises(sn.CallError, match=r"^[fg]: 'x' lives on another device \(.+\)") as caught:
                call()
            assert caught.value.argument == "x"
            assert caught.value.remedy.startswith("copy it to this session's device: sn.tensor(x); for another session")
        assert sn.tensor(mine).to_numpy().tolist() == [1.0]
    finally:
        other.close()


def test_the_same_arguments_again_are_looked_at_as_far_as_they_can_change(session: Any) -> None:
    f = session.compile("[Differentiable] float again(float a, float x) { return a * x; }").again
    x, y = sn.tensor([1.0, 2.0]), sn.tensor([0.0, 0.0])
    for a in (2.0, 3.0, 4.0):
        f(a, x, _result=y)
        assert y.to_numpy().tolist() == [a, 2 * a]
    f(5, x, _result=y)
    assert y.to_numpy().tolist() == [5, 10]
    x.copy_from_numpy(np.array([3.0, 4.0], np.float32))
    for _ in range(2):
        f(2.0, x, _result=y)
    assert y.to_numpy().tolist() == [6, 8]
    f(2.0, y, _result=y)
    assert y.to_numpy().tolist() == [12, 16]
    with pytest.raises(sn.CallError, match="no parameter 'z'"):
        f(2.0, z=x, _result=y)
    with pytest.raises(sn.CallError, match="shape"):
        f(2.0, sn.tensor([1.0, 2.0, 3.0]), _result=y)
    x.grad_out = sn.tensor([0.0, 0.0])
    f(2.0, x, _result=y)
    assert y.to_numpy().tolist() == [6, 8]


def test_the_time_limit_stays_with_another_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    made = sn.Session(guard_seconds=7.0)
    assert repr(made) == f"<slang session on {made.backend.key} ({made.backend.adapter})>"
    made.guard.seconds = 5.0  # as %config does
    monkeypatch.setattr("slangnb.runtime.session.choose", lambda name: replace(made.backend, reason="another"))
    made.use(made.backend.key)
    assert (made.backend.reason, made.guard.seconds) == ("another", 5.0)
    assert made.compile("float f(float x) { return 2 * x; }").f(3.0) == 6.0
    made.close()
    assert repr(made).endswith(", closed)>")


@pytest.fixture
def two_devices(session: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session that may `use` two devices, "one" and "two"."""
    made = Session(session.backend.key, guard=False)
    backends = {"one": made.backend, "two": replace(made.backend, reason="two")}
    monkeypatch.setattr("slangnb.runtime.session.choose", backends.__getitem__)
    yield made
    made.close()


@pytest.mark.parametrize("guarded", [False, True])
def test_a_broken_cell_does_not_stop_another_backend(two_devices: Session, guarded: bool) -> None:
    s = two_devices
    s.guard_enabled = guarded
    s.compile("public float moved_k() { return 1.0; }", "moved_a")
    b = s.compile("import moved_a; float moved(float x) { return moved_k() * x; }", "moved_b")
    s.compile("public float moved_other() { return 2.0; }", "moved_a")
    c = s.compile("import moved_a; float stays(float x) { return moved_other() * x; }", "moved_c")
    s.take_broken()
    for name in ("two", "one"):
        s.use(name)
        assert c.stays(sn.tensor([1.0, 3.0], session=s), _result="numpy").tolist() == [2.0, 6.0]
        with pytest.raises(sn.CompileError, match="moved_k"):
            b.moved(1.0)
        assert [label for label, _ in s.take_broken()] == ["moved_b"]
    s.compile("public float moved_k() { return 3.0; } public float moved_other() { return 4.0; }", "moved_a")
    assert (b.moved(2.0), c.stays(2.0), s.take_broken()) == (6.0, 8.0, [])


def test_a_backend_that_fails_leaves_the_session_as_it_was(
    two_devices: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise sn.BackendError("it fails")

    s = two_devices
    s.guard_enabled = True
    f = s.compile("float unmoved(float x) { return 2 * x; }").unmoved
    state = s.backend, s.device, s.gate, s.plans, s.entry, s.guard.pid
    for step in ("open_device", "takes_host_addresses", "Builder.build"):
        with monkeypatch.context() as patch:
            patch.setattr(f"slangnb.runtime.session.{step}", fail)
            children = len(psutil.Process().children())
            with pytest.raises(sn.BackendError, match="it fails"):
                s.use("two")
            assert len(psutil.Process().children()) == children
        assert (s.backend, s.device, s.gate, s.plans, s.entry, s.guard.pid) == state
        assert f(sn.tensor([1.0, 3.0], session=s), _result="numpy").tolist() == [2.0, 6.0]


def test_a_closed_session_opens_no_device(two_devices: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("slangnb.runtime.session.open_device", opened.append)
    two_devices.close()
    with pytest.raises(sn.BackendError, match="this session is closed"):
        two_devices.use("two")
    assert opened == []


def test_a_session_that_was_closed_is_not_the_current_one(session: Any) -> None:
    made = Session(session.backend.key, guard=False)
    set_session(made)
    try:
        assert has_session() and current() is made and not made.closed
        made.close()
        assert made.closed and not has_session()
    finally:
        set_session(session)


def test_calls_that_are_refused_leave_nothing_behind(session: Any) -> None:
    other = Session(session.backend.key, guard=False)
    other.compile("float refused_k() { return 1.0; }", "refused_a")
    f = other.compile("import refused_a; float refused(float x) { return refused_k() * x; }", "refused_b").refused
    other.compile("float refused_other() { return 1.0; }", "refused_a")

    class Numbers(np.ndarray):
        """An array that can be referred to weakly."""

    def refused(message: str) -> tuple[weakref.ref[Any], int]:
        x = np.zeros(3, np.float32).view(Numbers)
        with pytest.raises(sn.SlangNbError, match=message) as caught:
            f(x)
        return weakref.ref(x), len(caught.traceback)

    for message in ("'refused_k'", "this session is closed"):
        arrays, frames = zip(*[refused(message) for _ in range(5)], strict=True)
        gc.collect()
        assert sum(a() is not None for a in arrays) == 0 and len(set(frames)) == 1
        other.close()
    with pytest.raises(sn.BackendError) as first:
        _ = other.device
    with pytest.raises(sn.BackendError) as second:
        other.wait()
    assert first.value is not second.value and str(first.value) == str(second.value)


def test_dir_names_what_is_for_people(session: Any) -> None:
    assert dir(session) == ["backend", "close", "compile", "device", "load", "modules", "use"]
    assert all(hasattr(session, name) for name in dir(session))


def test_a_tensor_whose_session_was_closed_is_refused_by_name(session: Any) -> None:
    m = session.compile("[Differentiable] float f(float x) { return x * x; } int64_t g(int64_t x) { return x; }")
    m.f(sn.tensor([1.0, 2.0]))
    other = Session(session.backend.key, guard=False)
    old, unseen = sn.tensor([1.0, 2.0], session=other), sn.tensor(np.arange(3), session=other)
    other.close()
    calls = (
        lambda: m.f(old),
        lambda: m.g(unseen),
        lambda: sn.grad(m.f)(old),
        lambda: sn.jvp(m.f, {"x": 1.0}, {"x": old}),
        lambda: sn.tensor(old),
    )
    for call in calls:
        with pytest.raises(sn.CallError, match=r"^(g: )?('x' is )?a tensor of a device that was closed") as caught:
            call()
        assert caught.value.remedy == "run the cells that make it again"
