"""The notebook of examples/ runs from its first cell to its last, and is stored without outputs."""

import nbformat
import pytest
from nbclient import NotebookClient

from heddle.reports.sources import program

from database import ROOT

NOTEBOOK = ROOT / "examples" / "tour.ipynb"


def test_notebook_is_stored_without_outputs():
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert cells and all(not cell.outputs and cell.execution_count is None for cell in cells)


@pytest.mark.skipif(program() is None, reason="no program heddle")
def test_notebook_runs_on_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUR_EXAMPLES", str(ROOT / "examples"))
    monkeypatch.setenv("TOUR_BUDGET", "3")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "Surface of output 1" in (tmp_path / "tour.html").read_text()
