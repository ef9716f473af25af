"""Collects what SlangPy logs."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import slangpy

_START = re.compile(r"^\[(DEBUG|INFO|WARN|ERROR|FATAL)\] (?:\(\w+\) )?", re.MULTILINE)


@dataclass(frozen=True)
class _LogFile:
    """A file that SlangPy writes to, and what reads it.

    An output in Python would be called by SlangPy's own threads: one that holds the log and waits for Python, while
    Python waits for the log, stops both for ever.
    """

    output: slangpy.LoggerOutput
    read: int
    turn: RLock = field(default_factory=RLock)

    @classmethod
    @cache
    def of_this_process(cls) -> _LogFile:
        import slangpy as spy

        made, path = tempfile.mkstemp(prefix="slangnb-", suffix=".log")
        os.close(made)
        scratch = spy.Logger(use_default_outputs=False)
        found = cls(scratch.add_file_output(path), os.open(path, os.O_RDONLY))
        with contextlib.suppress(OSError):  # Windows keeps open files
            Path(path).unlink()
        return found

    def size(self) -> int:
        return os.fstat(self.read).st_size

    def since(self, start: int) -> bytes:
        if hasattr(os, "pread"):  # threads may read at the same time
            return os.pread(self.read, self.size() - start, start)
        os.lseek(self.read, start, os.SEEK_SET)
        return os.read(self.read, self.size() - start)


class Messages:
    """Warnings and errors since a place in the file."""

    def __init__(self, file: _LogFile) -> None:
        self._file, self._start = file, file.size()

    def before(self, error: Exception) -> str:
        """Give them all, and what is raised after them."""
        return f"{self.text()}\n{error}".lstrip("\n")

    def text(self) -> str:
        """Give them all."""
        return warnings_in(self._file.since(self._start).decode(errors="replace"))


def warnings_in(log: str) -> str:
    """Give the messages of a log from warnings up, without their marks.

    Examples
    --------
    >>> warnings_in("[INFO] one\\n[WARN] (slang) two\\nof it\\n[ERROR] three\\n")
    'two\\nof it\\nthree'
    """
    parts = _START.split(log)[1:]
    return "\n".join(
        text.removesuffix("\n")
        for level, text in zip(parts[::2], parts[1::2], strict=True)
        if level not in ("DEBUG", "INFO")
    )


@contextmanager
def captured_log() -> Iterator[Messages]:
    """Collect what SlangPy logs, instead of letting it reach the console with colour codes in it.

    The outputs that were there before come back at the end. Threads take turns: there is one log, and the compiler is
    not made for several.
    """
    import slangpy as spy

    file, logger = _LogFile.of_this_process(), spy.Logger.get()
    with file.turn:
        before = spy.Logger(use_default_outputs=False)
        before.use_same_outputs(logger)
        logger.remove_all_outputs()
        logger.add_output(file.output)
        try:
            yield Messages(file)
        finally:
            logger.use_same_outputs(before)
