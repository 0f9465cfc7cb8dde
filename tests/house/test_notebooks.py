"""Every notebook runs from top to bottom, as a person would run it."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_every_picture_cell_shows_one(path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": path.parent}}).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.rpartition("\n")[2].startswith(("hv.show", "hv.explore")):
            assert _shown(cell) & {"image/svg+xml", "image/png", "text/html"}, f"no picture below:\n{cell.source}"


def _shown(cell):
    return {kind for output in cell.outputs for kind in output.get("data", {})}
