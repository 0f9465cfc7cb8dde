"""What is left of a live view: in a notebook reopened without a kernel, and in the HTML that nbconvert makes of it."""

import copy
import json

import nbformat
import pytest
from lab_page import NotebookPage
from nbconvert import HTMLExporter
from playwright.sync_api import expect

CELL = """
from hand_made import HandMadeBackend
from hyperviz.widgets import Explorer

explorer = Explorer(HandMadeBackend(3))
explorer
"""


@pytest.fixture(scope="module")
def saved(lab, watched):
    """The content of a notebook that was run, turned to regional, saved and closed; its kernel is gone."""
    lab.write("saved.ipynb", [CELL])
    notebook = NotebookPage.open(lab, watched.page, "saved.ipynb")
    notebook.run_all()
    watched.page.get_by_role("button", name="regional").click()
    expect(watched.page.locator(".hv-live .hv-node[data-name='mm_0']")).to_have_attribute("data-region", "0", timeout=30_000)
    notebook.ask("explorer.view.still.wait(60)")
    content = notebook.save_until(lambda content: any("image/png" in output.data for output in content.cells[0].outputs))
    watched.page.goto("about:blank")
    lab.shut_down_kernels()
    return content


def test_a_notebook_reopened_without_its_kernel_shows_the_last_picture(lab, saved, page):
    NotebookPage.open(lab, page, "saved.ipynb")
    expect_the_picture(page, ".jp-RenderedSVG img")
    expect(page.get_by_text("model not found")).to_have_count(
        1, timeout=60_000
    )  # JupyterLab's sentence about the live view is there, but not to be seen
    expect(page.get_by_text("model not found")).to_be_hidden()


def test_someone_elses_notebook_opened_without_any_kernel_shows_the_picture_too(lab, saved, page):
    content = copy.deepcopy(saved)
    del content.metadata["kernelspec"]  # also makes it a notebook that this server has no reason to trust
    nbformat.write(content, lab.root / "copy.ipynb")
    NotebookPage.open(lab, page, "copy.ipynb")
    page.get_by_role("button", name="No Kernel", exact=True).click()
    expect_the_picture(page, ".jp-RenderedImage img")


def expect_the_picture(page, selector):
    picture = page.locator(selector)
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.getBoundingClientRect().width)") > 300
    expect(page.get_by_text("regional · 2 regions · 13 nodes compiled · 2 eager. This is the saved picture: run the cell")).to_be_visible()
    expect(page.locator(".hv-live")).to_have_count(0)


def test_nbconvert_shows_the_picture(saved, page, tmp_path):
    offline = dict.fromkeys(("mathjax_url", "require_js_url", "jquery_url", "mermaid_js_url", "jupyter_widgets_base_url"), "")
    html, _ = HTMLExporter(**offline).from_notebook_node(saved)
    path = tmp_path / "notebook.html"
    path.write_text(html)
    page.goto(path.as_uri())
    expect_the_picture(page, "img[src^='data:image/svg+xml']")


def test_a_saved_view_is_small(saved):
    before = len(nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])))
    assert len(nbformat.writes(saved)) - before < 300_000


def test_a_code_host_finds_a_picture_in_the_file(saved):
    outputs = saved.cells[0].outputs
    pictures = [output.data for output in outputs if "image/png" in output.data]
    assert len(pictures) == 1
    assert "image/svg+xml" in pictures[0] and "text/html" not in pictures[0]
    assert "regional" in json.dumps(pictures[0]["text/plain"])
