"""The magics ``%%slang`` and ``%slang``."""

from __future__ import annotations

import time
from typing import Any

import traitlets
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, argument_group, magic_arguments

from slangnb.compiler.torch_source import torch_mark
from slangnb.errors import CallError, CompileError
from slangnb.notebook import checking, commands, torch_cells
from slangnb.notebook.naming import is_fixed, owner, replaced, still_there
from slangnb.notebook.options import parse, parse_define, target
from slangnb.runtime.current import has_session, session
from slangnb.runtime.function import Function
from slangnb.runtime.kernelcode import kernel_code
from slangnb.runtime.session import Session, guard_wanted


@magics_class
class SlangMagics(Magics):
    """Compiles Slang cells. ``%config SlangMagics`` shows the settings."""

    guard = traitlets.Bool(
        None,
        allow_none=True,
        help="Compile in a child process first, so that a compiler crash is an error; None: unless SLANGNB_GUARD=off.",
    ).tag(config=True)
    guard_seconds = traitlets.Float(60.0, help="Time limit of one such compile, in seconds.").tag(config=True)
    backend = traitlets.Unicode("", help="Backend to start with; empty: the first that works.").tag(config=True)
    quiet = traitlets.Bool(False, help="No summary line after a compile.").tag(config=True)

    shell: Any  # pyright: ignore[reportIncompatibleVariableOverride] - an InteractiveShell, never None here

    @traitlets.observe("guard")
    def _guard_changed(self, _change: Any) -> None:
        if has_session():
            session().guard_enabled = guard_wanted(self.guard)

    @traitlets.observe("guard_seconds")
    def _guard_seconds_changed(self, _change: Any) -> None:
        if has_session():
            session().guard.seconds = self.guard_seconds

    def make_session(self) -> Session:
        """Make a session with these settings; ``sn.session()`` does so while the extension is loaded."""
        return Session(self.backend or None, self.guard, self.guard_seconds)

    @magic_arguments("%slang")
    @argument("name", nargs="?", help="Name under which other cells import this one: `import NAME;`.")
    @argument_group("Compiling")
    @argument("-b", "--backend", help="Switch to this backend first: cuda, vulkan, metal, d3d12 or software.")
    @argument("-I", "--include", action="append", default=[], metavar="DIR", help="Folder with .slang files to import.")
    @argument("-D", "--define", action="append", default=[], metavar="MACRO", help="Preprocessor macro, as NAME=VALUE.")
    @argument("--force", action="store_true", help="Compile again though nothing has changed.")
    @argument("--torch", action="store_true", help="Compile for PyTorch on CUDA, through slangtorch.")
    @argument_group("Results")
    @argument("-o", "--only", metavar="NAMES", help="Make only these names Python names, as f,g.")
    @argument(
        "--show",
        metavar="TARGET",
        help="Show the code made for a target: slang, hlsl, glsl, spirv-asm, cuda, metal, wgsl.",
    )
    @argument("--check", action="store_true", help="Compare the gradients with differences, on small random inputs.")
    @argument("--time", action="store_true", help="Say how long it took.")
    @argument("-q", "--quiet", action="store_true", help="No summary line.")
    @argument("-n", "--name", dest="name_option", metavar="NAME", help="Same as the name alone.")
    @argument("-h", "--help", action="store_true", help="Print this text.")
    @cell_magic
    def slang(self, line: str, cell: str) -> None:
        """Compile the cell; its functions and structs become Python names.

        A differentiable function has a backward pass, `f.bwds`. Line numbers in errors are those of the cell.
        A cell with [TorchEntryPoint], [CudaKernel] or [AutoPyBindCUDA] is compiled through slangtorch.
        """
        options = parse(self.slang.parser, "%%slang", line)  # pyright: ignore[reportAttributeAccessIssue]
        if options.help:
            print(self.slang.__doc__, end="")
            return
        name = options.name_option or options.name
        if not cell.strip():
            raise empty_cell(name)
        if options.show:
            options.show = target(options.show)
        start = time.perf_counter()
        label = f"In[{len(self.shell.user_ns.get('In', [])) - 1}]"  # execution_count may be one ahead already
        if options.torch or torch_mark(cell):
            torch_cells.run(self, options, cell, name, label)
            return
        s = session()
        if options.backend:
            s.use(options.backend)
        try:
            module = s.compile(
                cell,
                name,
                dict(map(parse_define, options.define)),
                tuple(options.include),
                label=label,
                first_line=2,
                force=options.force,
                warn=False,
            )
        except CompileError as error:
            note = still_there(cell, self.shell.user_ns)
            error.__notes__ = [note] if note else []  # not add_note: an error that is kept may be raised again
            raise
        seconds = time.perf_counter() - start
        notes = self.export(module, name, options.only)
        for warning in s.take_warnings():
            print(warning.render())
        if not (options.quiet or self.quiet):
            took = f"  ({seconds * 1e3:.0f} ms)" if options.time else ""
            print("; ".join([commands.summary(module), *notes]) + took)
        commands.say_broken(s)
        if options.check:
            checking.check(commands.functions_of(module), name or label, options.quiet or self.quiet)
        if options.show:
            for function in commands.functions_of(module):
                print(kernel_code(function, options.show))

    slang.__doc__ = (slang.__doc__ or "").removeprefix("::\n\n")  # IPython writes it for Sphinx

    def export(self, module: Any, name: str | None, only: str | None, instead: str = "") -> list[str]:
        """Push the module's names into the notebook; those of Python's own and of modules stay what they are.

        Parameters
        ----------
        module : Module or TorchModule
            What was compiled.
        name : str or None
            The cell's name, which becomes a Python name too.
        only : str or None
            The names that are wanted, with commas between; None: all.
        instead : str
            What to do about a name that stays Python's; by default, what helps in a cell.

        Returns
        -------
        list of str
            What a person should know: names that stay, and names that meant something else before.
        """
        wanted = [n.strip() for n in only.split(",")] if only else list(module)
        missing = [n for n in wanted if n not in module]
        if missing:
            raise CallError(f"-o {only}: the cell defines no {missing[0]!r}", remedy=f"it defines {', '.join(module)}")
        before = self.shell.user_ns
        notes, names = [], {}
        taken = owner(name, before) if name else ""
        if taken:
            notes.append(f"`{name}` stays {taken}: cells import it as `import {name};` all the same")
        by_name = name and not taken and name not in wanted
        for n in wanted:
            stays = owner(n, before)
            if stays and (not only or is_fixed(n)):
                how = f"call it as {name}[{n!r}]" if by_name else _way_out(n, name)
                notes.append(f"`{n}` stays {stays}: {instead or how}")
            else:
                names[n] = module[n]
        if name in names:
            kind = "function" if isinstance(names[name], Function) else "struct"
            notes.append(f"`{name}` is the {kind}: other cells import the module as `import {name};`")
        elif name and not taken:
            names[name] = module
        for n, value in names.items():
            if isinstance(value, Function) and isinstance(before.get(n), Function):
                value.target.follow(before[n].target)  # so that results of the old one are not taken for its own
        notes += [note for n, value in names.items() if (note := replaced(n, value, before))]
        self.shell.push(names)
        return notes

    @line_magic("slang")
    def slang_line(self, line: str) -> None:
        """Do one of: `devices`, `use BACKEND`, `modules`, `load FILE`, `source F`, `code F [--target T] [--bwd]`,
        `doctor`, `reset`, `help`.
        """
        commands.run(self, line)


def _way_out(name: str, cell: str | None) -> str:
    """Say how a function whose name stays Python's can be called; `cell` is the cell's own name."""
    if is_fixed(name):
        return "rename it" + f", or name the cell and write NAME[{name!r}]" * (not cell)
    return f"export it with -o {name}" + ", or name the cell" * (not cell)


def empty_cell(name: str | None) -> CallError:
    """Say that there is nothing below ``%%slang``; who meant a command learns how to write that."""
    if name in commands.COMMANDS:
        return CallError(f"the cell has no code below `%%slang {name}`", remedy=f"the command is `%slang {name}`")
    return CallError(
        "the cell is empty: `%%slang` compiles the code below it",
        remedy="write a function there, as `float twice(float x) { return 2 * x; }`; `%%slang?` shows the options",
    )
