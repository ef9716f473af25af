"""Loads slangnb into IPython and takes it out again."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from slangnb.devices import driver
from slangnb.notebook import commands, completion, display, inspection
from slangnb.notebook.first_line import mend
from slangnb.notebook.magics import SlangMagics
from slangnb.notebook.tensor_notes import tensor_note
from slangnb.runtime.current import configure, has_session, session
from slangnb.runtime.session import Session
from slangnb.views import stored

#: Lines that are shown of what shaders print in one cell.
MOST_PRINTED = 200


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register magics, formatters and events; loading twice is harmless. Called by ``%load_ext slangnb``."""
    if _registered(shell) is not None:
        return
    driver.activate()  # so that `import slangpy` works in the next cell on a machine without a system driver
    magics = SlangMagics(shell, parent=shell)
    shell.register_magics(magics)
    configure(magics.make_session)
    shell.events.register("post_run_cell", _after_cell)
    display.register(shell)
    inspection.register(shell)
    completion.register(magics)
    shell.input_transformers_post.append(mend)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Undo all that loading did, and close the device. Called by ``%unload_ext slangnb``."""
    magics = _registered(shell)
    if magics is None:
        return
    shell.configurables.remove(magics)  # pyright: ignore[reportArgumentType] - any Configurable
    shell.events.unregister("post_run_cell", _after_cell)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("slang", None)
    shell.magics_manager.registry.pop("SlangMagics", None)
    display.unregister(shell)
    inspection.unregister(shell)
    completion.unregister(shell)
    shell.input_transformers_post.remove(mend)
    stored.release(shell)  # before the device, which live views read
    configure(Session)
    if commands.close():
        print(commands.CLOSED)


def _registered(shell: InteractiveShell) -> SlangMagics | None:
    return next((c for c in shell.configurables if isinstance(c, SlangMagics)), None)


def _after_cell(result: Any) -> None:
    """Wait for the device, where the stop button works; show what shaders printed, and what a tensor does not do."""
    if note := tensor_note(result.error_in_exec):
        print(note)
    if has_session() and not session().busy():
        s = session()
        s.wait()
        printed = s.device.flush_print_to_string()
        if printed:
            print(shortened(printed))


def shortened(printed: str, most: int = MOST_PRINTED) -> str:
    """Cut what shaders printed: a line for each of a million threads would bring the page to a halt.

    Examples
    --------
    >>> shortened("x=1\\nx=2\\nx=3\\n", most=2)
    'x=1\\nx=2\\n… 1 more line'
    """
    lines = printed.splitlines()
    more = len(lines) - most
    return "\n".join(lines[:most] + ([f"… {more:,} more line{'s' * (more > 1)}"] if more > 0 else []))
