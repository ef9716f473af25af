"""A real kernel: the bundle arrives whole, and the picture is a picture."""

import base64
import io
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from PIL import Image

import slangnb


def test_a_cell_shows_one_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(Path(slangnb.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([home, os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.v4.new_notebook()
    source = "import slangnb as sn\nsn.show(height=[[1.0, 2.0], [3.0, 4.0]])"
    notebook.cells = [nbformat.v4.new_code_cell(source)]
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert len(outputs) == 1
    data = outputs[0].data
    assert sorted(data) == ["image/png", "text/html", "text/plain"]
    assert data["text/plain"].startswith("height  float64 (2, 2)")
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.format == "PNG"
    assert image.width == pytest.approx(1.25 * outputs[0].metadata["image/png"]["width"], abs=2)
