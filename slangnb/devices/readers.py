"""Frees the places that ended processes hold in the tables of SlangPy's kernel caches.

SlangPy 0.43 keeps kernels in an LMDB database, whose file ``lock.mdb`` has places for 126 readers. A process takes two,
and gives none back when it ends. LMDB begins a new table only when nobody uses the cache: while one notebook stays
open, about 60 others fill it. From then on nothing is found in the cache or written to it.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
from functools import cache
from pathlib import Path

#: The header, then for each place a cache line with the reader's transaction and its process.
_HEADER, _PLACE, _PROCESS = 128, 64, 8


@cache
def free_readers(folder: Path) -> None:
    """Free the places of processes that have ended, in all tables below a cache folder.

    Only once in each process, before it opens the cache itself: to close the file again would take its own locks away.
    Linux alone: there each process locks the byte of the table whose number is its own, which tells whether it lives
    even where its number means another process here.
    """
    if not sys.platform.startswith("linux"):
        return
    for path in folder.glob("**/lock.mdb"):
        with contextlib.suppress(OSError), path.open("r+b", buffering=0) as file:
            _free(file.fileno())


def _free(table: int) -> None:
    for at, process in places(os.pread(table, os.fstat(table).st_size, 0)):
        if process and not _is_locked(table, process):
            os.pwrite(table, bytes(4), at)


def places(table: bytes) -> list[tuple[int, int]]:
    """Give where the process of each place stands, and its number; 0 for a free one.

    Examples
    --------
    >>> places(bytes(128) + bytes(8) + (7).to_bytes(4, "little") + bytes(52))
    [(136, 7)]
    """
    found = range(_HEADER + _PROCESS, len(table) - 4, _PLACE)
    return [(at, struct.unpack_from("<I", table, at)[0]) for at in found]


def _is_locked(table: int, process: int) -> bool:
    """Tell whether a process has locked its byte of the file."""
    import fcntl

    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, process, 1, 0)
    return struct.unpack_from("h", fcntl.fcntl(table, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK
