"""Places that ended processes hold in the table of the kernel cache."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from slangnb.devices import readers

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="places are freed on Linux alone")

HOLD = """
import fcntl, os, struct, sys
f = open(sys.argv[1], "r+b", buffering=0)
fcntl.fcntl(f, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, os.getpid(), 1, 0))
print(os.getpid(), flush=True)
sys.stdin.read()
"""
SESSION = """
import sys
import slangnb as sn
f = sn.session().compile(f"float f(float x) {{ return {sys.argv[1]} * x; }}").f
print(f(2.0), flush=True)
sys.stdin.read()
"""


def held(table: Path) -> list[int]:
    return [process for _, process in readers.places(table.read_bytes()) if process]


def test_living_processes_keep_their_places(tmp_path: Path) -> None:
    table = tmp_path / "kernels" / "lock.mdb"
    table.parent.mkdir()
    table.write_bytes(bytes(4096))
    command = [sys.executable, "-c", HOLD, str(table)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as living:
        assert living.stdin is not None and living.stdout is not None
        number = int(living.stdout.readline())
        with subprocess.Popen([sys.executable, "-c", ""]) as ended:
            pass
        content = bytearray(4096)
        for at, process in ((136, number), (200, ended.pid), (264, number)):
            content[at : at + 4] = process.to_bytes(4, "little")
        with table.open("r+b") as file:
            file.write(content)
        readers.free_readers(tmp_path)
        assert held(table) == [number, number]
        living.stdin.close()


def test_sessions_beside_an_open_one_take_no_more_places(tmp_path: Path) -> None:
    """Two for the one that stays, its guard's, and those of the last: not those of all that ended."""
    env = {**os.environ, "SLANGNB_CACHE": str(tmp_path)}

    def session(number: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", textwrap.dedent(SESSION), str(number)]
        made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        assert made.stdout is not None and float(made.stdout.readline()) == 2 * number
        return made

    with session(1.5) as staying:
        counts = []
        for number in (2.5, 3.5, 4.5):
            with session(number) as short:
                short.communicate("")
            counts.append(len(held(next(tmp_path.glob("**/lock.mdb")))))
        staying.communicate("")
    assert counts[0] > 0 and counts == counts[:1] * 3
