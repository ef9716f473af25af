"""What IPython tells about the page: whether one watches the kernel, and which cell shows a picture."""

from __future__ import annotations

import asyncio
import os
import sys
import zlib
from collections.abc import Mapping
from typing import Any


def shell() -> Any:
    """Give IPython's shell where it runs in a kernel; None elsewhere. Does not import IPython."""
    module = sys.modules.get("IPython")
    current = module.get_ipython() if module is not None else None
    return current if getattr(current, "kernel", None) is not None else None


def from_browser(request: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Whether the request that runs now comes from a page that can show widgets.

    JupyterLab, Notebook 7 and their relatives send the cell's metadata with its text; what runs notebooks without a
    page (nbclient, nbconvert, nbval, papermill) sends none. Voila runs them like those, and then shows a page.

    Examples
    --------
    >>> from_browser({"metadata": {"cellId": "c1"}}, {}), from_browser({"metadata": {}}, {})
    (True, False)
    """
    if "voila" in environment.get("SERVER_SOFTWARE", "").lower() or "VOILA_BASE_URL" in environment:
        return True
    kind = request.get("header", {}).get("msg_type", "")
    return kind == "comm_msg" or bool({"cellId", "deletedCells"} & set(request.get("metadata", {})))


def has_page() -> bool:
    """Whether the cell that runs now was sent by a page."""
    current = shell()
    return current is not None and from_browser(current.kernel.get_parent(), os.environ)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Give the loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Keys:
    """Names the pictures that cells show: each has its own name, and has it again when the notebook runs again.

    A name holds what the cell says, and which it is of those that say the same. What the picture shows has no part in
    it: that changes with `update`, and with the fonts of a machine.

    Examples
    --------
    >>> keys, cell = Keys(), {"content": {"code": "view"}}
    >>> keys.next({"header": {"msg_id": "1"}, **cell}), keys.next({"header": {"msg_id": "1"}, **cell})
    ('fefdab8e-0-0', 'fefdab8e-0-1')
    >>> keys.next({"header": {"msg_id": "2"}, **cell})
    'fefdab8e-1-0'
    """

    def __init__(self) -> None:
        self._alike: dict[int, list[str]] = {}
        self._run, self._count = "", 0

    def next(self, request: Mapping[str, Any]) -> str:
        """Name the next picture of the request that runs now."""
        content, run = request.get("content", {}), str(request.get("header", {}).get("msg_id", ""))
        self._count = self._count + 1 if run == self._run else 0
        self._run = run
        # JupyterLab says which cell runs, as does a widget that calls back; elsewhere each run is another cell.
        cell = str(request.get("metadata", {}).get("cellId") or content.get("comm_id") or run)
        code = zlib.crc32(str(content.get("code", "")).strip().encode())
        alike = self._alike.setdefault(code, [])
        if cell not in alike:
            alike.append(cell)
        return f"{code:08x}-{alike.index(cell)}-{self._count}"
