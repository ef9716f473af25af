"""Shows the code that SlangPy and Slang make of a function, for people who want to see it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from slangnb.compiler.reflection import PLAIN_KINDS, TypeInfo, plain_name
from slangnb.errors import CallError, GradientError
from slangnb.runtime.function import Function

TARGETS = ("slang", "hlsl", "glsl", "spirv-asm", "cuda", "metal", "wgsl")


def kernel_code(function: Function, target: str = "slang", backward: bool = False) -> str:
    """Give the kernel of a function called with tensors for all its plain parameters.

    Parameters
    ----------
    function : Function
        With scalar, vector, matrix or array parameters.
    target : str
        One of `TARGETS`; all but ``"slang"`` need the Slang compiler's command line, ``slangc``.
    backward : bool
        The backward pass instead.

    Raises
    ------
    CallError
        If the target is unknown, ``slangc`` is missing or fails, or a parameter has no plain type.
    GradientError
        If the backward pass is asked for, and the function is not differentiable.
    """
    import slangpy as spy

    name = function.info.name
    if target not in TARGETS:
        raise CallError(f"there is no target {target!r}", remedy=f"one of {', '.join(TARGETS)}")
    signature = function.info.signature
    if signature is None:
        raise CallError(
            f"{name} is overloaded or generic: its kernel depends on the call",
            function=name,
            remedy=f"write a function that calls {name} with the types you mean, and ask for its code",
        )
    if backward and not signature.differentiable:
        raise GradientError(
            f"{name} is not differentiable, so it has no backward pass",
            function=name,
            remedy=f"write [Differentiable] above {name} and run its cell",
        )
    session = function.session
    node = function.bwds.slangpy if backward else function.slangpy
    layout = function.target.require().module.layout

    def sample(t: TypeInfo) -> Any:
        if t.kind not in PLAIN_KINDS:
            raise CallError(
                f"{name} has a parameter of type {plain_name(t.name)}: call it to see its kernel", function=name
            )
        made = spy.Tensor.empty(session.device, shape=(1,), dtype=layout.require_type_by_name(t.name))  # pyright: ignore[reportArgumentType]
        return made.with_grads(zero=True) if backward and t.differentiable else made

    arguments = [sample(p.type) for p in signature.parameters]
    named = {"_result": sample(signature.returns)} if signature.returns.name != "void" else {}
    text = node.debug_build_call_data(*arguments, **named).code
    return text if target == "slang" else _translate(function, text, target)


def find_slangc() -> str | None:
    """Give the path of ``slangc``: on PATH, or in the ``slangtorch`` package; None if there is none."""
    found = shutil.which("slangc")
    if found is not None:
        return found
    spec = importlib.util.find_spec("slangtorch")
    if spec is None or not spec.submodule_search_locations:
        return None
    inside = Path(spec.submodule_search_locations[0]) / "bin" / "slangc"
    return str(inside) if inside.exists() else None


def _translate(function: Function, text: str, target: str) -> str:
    import slangpy as spy

    slangc = find_slangc()
    if slangc is None:
        raise CallError(
            f"code for {target} needs the Slang compiler's command line, slangc",
            remedy="pip install slangtorch brings one, or put slangc on PATH",
        )
    units = function.session.units_of(function.target.owner)
    with tempfile.TemporaryDirectory() as folder:
        for unit in units:
            Path(folder, f"{unit.module}.slang").write_text(unit.text, encoding="utf-8")
        kernel = Path(folder, "kernel.slang")
        kernel.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [
                slangc,
                str(kernel),
                "-target",
                target,
                "-entry",
                "compute_main",
                "-stage",
                "compute",
                "-I",
                folder,
                "-I",
                str(spy.SHADER_PATH),
            ],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"{slangc} ended with status {done.returncode}, and said nothing"]
        raise CallError(f"slangc made no {target} code: {said[0]}")
    return done.stdout
