"""The driver is in place before SlangPy is imported, whichever way a person comes in.

On a machine without a system driver `import slangpy` fails otherwise; here the order itself is recorded.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from typing import Any

import pytest

RECORDER = """
import json, sys
from slangnb.devices import driver
order = []
activate = driver.activate

def recorded():
    order.append("driver")
    activate()

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "slangpy":
            order.append("slangpy")

driver.activate = recorded
sys.meta_path.insert(0, Finder())
{entry}
print(order[0], "slangpy" in order)
"""
ENTRIES = {
    "session": "import slangnb as sn; sn.session()",
    "tensor": "import slangnb as sn; sn.tensor([1.0])",
    "show": "import slangnb as sn; sn.show(sn.tensor([1.0]))",
    "doctor": "from slangnb.devices.doctor import report; report()",
    "extension": "from IPython.core.interactiveshell import InteractiveShell as S; shell = S.instance();"
    "shell.run_line_magic('load_ext', 'slangnb'); import slangpy",
    "child": "from slangnb.devices import child; child.main(['--probe', {backend!r}])",
}


@pytest.mark.parametrize("name", ENTRIES)
def test_driver_before_slangpy(session: Any, name: str) -> None:
    backend = json.dumps(asdict(session.backend))
    code = RECORDER.replace("{entry}", ENTRIES[name].replace("{backend!r}", repr(backend)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "driver True"
