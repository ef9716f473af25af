"""``%%slang`` and ``%slang`` in an IPython shell (case 020 among them)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.messages import plain
from slangnb.notebook import extension
from slangnb.notebook.options import parse, without_comment
from slangnb.runtime.current import set_session
from slangnb.runtime.function import Function


def run(shell: Any, text: str) -> Any:
    """Run a cell; give its result, or raise what it raised."""
    outcome = shell.run_cell(text, store_history=True)
    outcome.raise_error()
    return outcome.result


POLYNOMIAL = """%%slang
[Differentiable]
float polynomial(float a, float b, float c, float x)
{
    return a * x * x + b * x + c;
}
"""


def test_cell_to_gradient(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, POLYNOMIAL)
    assert capsys.readouterr().out == "compiled polynomial(a, b, c, x) [differentiable]\n"
    run(
        shell,
        """
import numpy as np, slangnb as sn
x = sn.tensor([1, 2, 3, 4], grad=True)
y = polynomial(a=2, b=8, c=-1, x=x, _result="tensor").with_grads()
y.grad.copy_from_numpy(np.ones(4, np.float32))
polynomial.bwds(a=2, b=8, c=-1, x=x, _result=y)
""",
    )
    assert shell.user_ns["y"].to_numpy().tolist() == [9, 23, 41, 63]
    assert shell.user_ns["x"].grad.to_numpy().tolist() == [12, 16, 20, 24]


# Case 020: the option line

OPTIONS = [
    ("--name cell1 -D N=4 -D M=2", {"name_option": "cell1", "define": ["N=4", "M=2"]}),
    ("--name 'my cell'", {"name_option": "my cell"}),
    ('--name="my cell"', {"name_option": "my cell"}),
    ('-I "/tmp/a b" -I /tmp/c', {"include": ["/tmp/a b", "/tmp/c"]}),
    ("--name c1 # first try, don't keep", {"name_option": "c1"}),
    ("c1 -q # first", {"name": "c1", "quiet": True}),
    ("-D COLOUR='# red'", {"define": ["COLOUR=# red"]}),
    ("-o f,g --time --force -b software", {"only": "f,g", "time": True, "force": True, "backend": "software"}),
]


@pytest.mark.parametrize(("line", "expected"), OPTIONS, ids=[line for line, _ in OPTIONS])
def test_020_options(shell: Any, line: str, expected: dict[str, Any]) -> None:
    magic = shell.magics_manager.magics["cell"]["slang"]
    got = vars(parse(magic.__func__.parser, "%%slang", line))
    assert {k: got[k] for k in expected} == expected


@pytest.mark.parametrize("line", ["--backnd vulkan", "-D", "a b", '--name "open', "-D 4=N"])
def test_020_wrong_options_fail_the_cell(shell: Any, line: str) -> None:
    with pytest.raises(sn.CallError, match=r"--backnd|expected one argument|one word, not 'a b'|closing quotation|'4'"):
        run(shell, f"%%slang {line}\nfloat f(float x) {{ return x; }}")


def test_020_python_variables_expand_on_the_line_only(shell: Any) -> None:
    run(shell, "n = 4")
    run(shell, "%%slang -D N={n}\n// {n} and $n stay as they are\nfloat f(float x) { return x + N; }")
    assert shell.user_ns["f"](1.0) == 5.0
    assert "{n} and $n stay" in shell.user_ns["f"].__doc__


def test_comment_outside_quotes() -> None:
    assert without_comment("a '# b' #c") == "a '# b' "
    assert without_comment("-D A=#fff") == "-D A=#fff"


def test_error_has_the_line_of_the_cell_and_fails_it(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(sn.CompileError) as caught:
        run(shell, "%%slang\nfloat brightness(float3 colour)\n{   return dot(color, 1);\n}")
    d = caught.value.diagnostics[0]
    assert (d.line, d.column, d.code) == (3, 16, "E30015")
    assert "colour" in d.remedy
    out = capsys.readouterr().out
    assert "^^^^^" in out and "line 3" in out and "Traceback" not in out


def test_warning_is_shown_at_each_run_once_and_plainly(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = "%%slang\nfloat shown_once(float x) { int i = x; return i; }"
    for _ in range(2):
        run(shell, text)
        out = capsys.readouterr().out
        assert out.count("warning[E30081]") == 1 and "\x1b" not in out and "int(x)" in out


def test_named_cells_import_each_other(shell: Any) -> None:
    run(shell, "%%slang magic_helpers\npublic float h(float x) { return x + 10; }")
    run(shell, "%%slang\nimport magic_helpers;\nfloat g(float x) { return 2 * h(x); }")
    assert shell.user_ns["g"](1.0) == 22.0
    assert shell.user_ns["magic_helpers"]["h"](1.0) == 11.0
    run(shell, "%%slang magic_helpers\npublic float h(float x) { return x + 20; }")
    assert shell.user_ns["g"](1.0) == 42.0
    run(shell, "%%slang magic_helpers -q\npublic float renamed(float x) { return x; }")
    with pytest.raises(sn.CompileError, match="'h'"):
        run(shell, "g(1.0)")


def test_python_names_stay_pythons(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%slang\nfloat max(float a) { return a; }\nfloat lambda(float a) { return 2 * a; }")
    assert "max" not in shell.user_ns and "lambda" not in shell.user_ns
    assert "`max` stays Python's own name: export it with -o max" in capsys.readouterr().out
    run(shell, "%%slang mine\nfloat max(float a) { return a + 1; }")
    assert shell.user_ns["mine"]["max"](1.0) == 2.0
    run(shell, "%%slang -o max\nfloat max(float a) { return a + 2; }")
    assert shell.user_ns["max"](1.0) == 3.0
    with pytest.raises(sn.CallError, match="defines no 'foo'"):
        run(shell, "%%slang -o foo\nfloat f(float a) { return a; }")


def test_names_of_ipython_stay(shell: Any) -> None:
    run(shell, "%%slang print\nfloat In(float a) { return a; }\nfloat use_in(float a) { return In(a); }")
    assert isinstance(shell.user_ns["In"], list) and print is shell.user_ns.get("print", print)
    assert run(shell, "use_in(2.0)") == 2.0
    run(shell, "%%slang\nfloat after(float a) { return a; }")


def test_structs_become_names(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%slang\nstruct Sphere { float r; };\nfloat volume(Sphere s) { return s.r * s.r * s.r; }")
    assert capsys.readouterr().out == "compiled volume(s), struct Sphere\n"
    assert run(shell, "volume({'_type': 'Sphere', 'r': 2.0})") == 8.0


def test_what_was_compiled_is_not_one_endless_line(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names = ", ".join(f"float argument_{i}" for i in range(9))
    shell.run_cell(
        f"%%slang\nfloat one(float x) {{ return x; }}\nfloat many({names}) {{ return argument_0; }}"
    ).raise_error()
    assert capsys.readouterr().out == (
        "compiled one(x), many(argument_0, argument_1, argument_2, argument_3, argument_4,\n"
        "    argument_5, argument_6, argument_7, argument_8)\n"
    )


def test_printing_from_a_shader(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, '%%slang -q\nimport sgl.device.print;\nvoid hello(int x) { print("x={}", x); }')
    run(shell, "hello(3)")
    assert "x=3" in capsys.readouterr().out


def test_line_commands(shell: Any, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    run(shell, POLYNOMIAL)
    capsys.readouterr()
    run(shell, "%slang source polynomial")
    assert capsys.readouterr().out.startswith("[Differentiable]\nfloat polynomial(float a, float b,")
    run(shell, "%slang code polynomial --bwd  # the backward kernel")
    assert "bwd_diff(" in capsys.readouterr().out
    run(shell, "%slang devices")
    assert "in use" in capsys.readouterr().out
    (tmp_path / "loaded_file.slang").write_text("float from_file(float x) { return 7 * x; }")
    run(shell, f"%slang load '{tmp_path / 'loaded_file.slang'}'")
    assert run(shell, "from_file(1.0)") == 7.0
    run(shell, "%slang modules")
    assert "loaded_file.slang: from_file" in capsys.readouterr().out
    run(shell, "%slang")
    assert "%slang use BACKEND" in capsys.readouterr().out
    run(shell, f"%slang use {sn.session().backend.key}")
    assert run(shell, "polynomial(1, 0, 0, 3.0)") == 9.0


def test_commands_say_what_they_broke(shell: Any, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    file = tmp_path / "breaking.slang"
    file.write_text("public float before(float x) { return x; }")
    run(shell, f"%slang load '{file}'")
    run(shell, f"%%slang needs_it -I '{tmp_path}'\nimport breaking;\nfloat needing(float x) {{ return before(x); }}")
    file.write_text("public float after(float x) { return x; }")
    capsys.readouterr()
    run(shell, f"%slang load '{file}'")
    out = capsys.readouterr().out
    assert out.startswith("compiled after(x)\nwarning: In[2] does not compile any more:\nerror[E30015]")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sourc f", "did you mean `%slang source`"),
        ("source", "write `%slang source F`"),
        ("source polynomal", "polynomial"),
        ("use cudda", "no backend 'cudda'"),
        ("load nowhere.slang", "no file"),
        ("code polynomial --target foo", "no target 'foo'"),
        ("code 'open", "closing quotation"),
        ("modules extra", "modules takes nothing more, not 'extra'\nremedy: write `%slang modules`"),
        ("devices all", "devices takes nothing more, not 'all'"),
        ("doctor vulkan", "doctor takes nothing more, not 'vulkan'"),
        ("reset now", "reset takes nothing more, not 'now'"),
    ],
)
def test_wrong_line_commands(shell: Any, line: str, message: str) -> None:
    run(shell, POLYNOMIAL)
    with pytest.raises(sn.SlangNbError, match=message):
        run(shell, f"%slang {line}")


def test_help_of_the_magic_and_of_functions(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, POLYNOMIAL)
    capsys.readouterr()
    run(shell, "%%slang?")
    assert "-D" in capsys.readouterr().out
    run(shell, "polynomial??")
    out = plain(capsys.readouterr().out)  # the source is coloured
    assert "float polynomial(float a, float b, float c, float x)" in out and "return a * x * x + b * x + c;" in out


def test_settings(shell: Any) -> None:
    seconds = sn.session().guard.seconds
    run(shell, "%config SlangMagics.guard_seconds = 5")
    assert sn.session().guard.seconds == 5
    sn.session().guard.seconds = seconds


def test_settings_hold_for_a_session_that_python_makes(
    shell: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLANGNB_GUARD", "off")
    set_session(None)
    try:
        run(shell, "%config SlangMagics.guard_seconds = 9")
        run(shell, f"%config SlangMagics.backend = {session.backend.key!r}")
        run(shell, "import slangnb as sn\nx = sn.tensor([1.0])")
        made = sn.session()
        assert (made.guard_enabled, made.guard.seconds, made.guard.pid) == (False, 9.0, None)
        for value, on in ((True, True), (None, False)):
            run(shell, f"%config SlangMagics.guard = {value}")
            assert made.guard_enabled == on
        run(shell, "%config SlangMagics.backend = 'cudda'")
        made.close()
        with pytest.raises(sn.BackendError, match="no backend 'cudda'"):
            run(shell, "sn.tensor([1.0])")
        extension.unload_ipython_extension(shell)
        made = sn.session()
        assert made.guard.seconds == 60.0
        made.close()
    finally:
        set_session(session)


def test_guard_off_in_the_environment_holds_for_cells(shell: Any, session: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SLANGNB_GUARD", "off")
    set_session(None)
    try:
        run(shell, "%%slang\nfloat unguarded(float x) { return x; }")
        assert (sn.session().guard_enabled, sn.session().guard.pid) == (False, None)
        sn.session().close()
    finally:
        set_session(session)


def test_tensor_as_a_result_shows_value_and_gradient(shell: Any) -> None:
    x = sn.tensor([1.0, 2.0], grad=True)
    data, _ = shell.display_formatter.format(x)
    assert set(data) == {"text/plain", "text/html", "image/png"}
    assert "value" in data["text/plain"] and "gradient" in data["text/plain"]
    assert "<script" not in data["text/html"]


def test_unload_removes_everything(session: Any) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    shell: Any = InteractiveShell.instance()

    def state() -> tuple[Any, ...]:
        formatter: Any = shell.display_formatter.mimebundle_formatter
        return (
            sorted(shell.magics_manager.magics["cell"]),
            sorted(shell.magics_manager.magics["line"]),
            sorted(shell.magics_manager.registry),
            list(shell.events.callbacks["post_run_cell"]),
            dict(formatter.deferred_printers),
            dict(formatter.type_printers),
            dict(shell.inspector.mime_hooks),
            list(shell.Completer.custom_matchers),
            list(shell.input_transformers_post),
            [type(c).__name__ for c in shell.configurables],
        )

    before = state()
    extension.load_ipython_extension(shell)
    during = state()
    extension.load_ipython_extension(shell)  # twice is harmless
    assert state() == during != before
    shell.display_formatter.format(sn.tensor([1.0]))
    set_session(None)
    extension.unload_ipython_extension(shell)
    extension.unload_ipython_extension(shell)
    set_session(session)
    assert state() == before
    InteractiveShell.clear_instance()


def test_functions_say_what_they_are(shell: Any) -> None:
    run(shell, POLYNOMIAL)
    f = shell.user_ns["polynomial"]
    assert isinstance(f, Function)
    assert repr(f) == "<slang function float polynomial(float a, float b, float c, float x) [differentiable]>"
    assert f(2, 8, -1, np.float32(1)) == 9.0
