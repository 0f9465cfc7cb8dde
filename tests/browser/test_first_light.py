"""The first notebook, as a person plays with it: run it, turn the mode with the mouse and the keyboard, compile, read the verdict."""

from pathlib import Path

import nbformat
import pytest
from lab_page import NotebookPage
from playwright.sync_api import expect

from hyperviz.snapshot import VERDICTS
from hyperviz.widgets.cards import VERDICT_WORDS

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_first_light.ipynb"
FILLS = "nodes => nodes.map(node => getComputedStyle(node.querySelector('rect')).fill)"
PLACES = "nodes => nodes.map(node => node.querySelector('rect').getAttribute('x') + ',' + node.querySelector('rect').getAttribute('y'))"


@pytest.fixture
def notebook(lab, page):
    content = nbformat.read(NOTEBOOK, as_version=4)
    assert "hv.explore(joint, flat)" in content.cells[-1].source
    nbformat.write(content, lab.root / NOTEBOOK.name)
    notebook = NotebookPage.open(lab, page, NOTEBOOK.name)
    notebook.run_all(timeout_s=900)
    yield notebook
    lab.shut_down_kernels()


def test_a_real_step_is_turned_compiled_and_judged_the_same_on_the_page_and_in_the_kernel(notebook):
    page = notebook.page
    nodes = page.locator(".hv-live .hv-node")
    expect(nodes.first).to_be_visible(timeout=60_000)
    off, places = nodes.evaluate_all(FILLS), nodes.evaluate_all(PLACES)
    assert len(places) == notebook.ask("len(_.plan.graph)")

    page.get_by_role("button", name="regional").click()
    expect(page.locator(".hv-live .hv-node[data-region='0']").first).to_be_visible(timeout=30_000)
    regional = nodes.evaluate_all(FILLS)
    assert sum(before != after for before, after in zip(off, regional, strict=True)) == notebook.ask("_.plan.num_compiled")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="full")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="regional")).to_have_attribute("aria-pressed", "true")
    notebook.expect_in_kernel("(_.mode, _.report)", ("regional", None))
    expect(page.locator(".hv-live .hv-subtitle")).to_contain_text("regional")
    assert nodes.evaluate_all(PLACES) == places
    assert nodes.evaluate_all(FILLS) == regional

    page.get_by_role("button", name="Compile", exact=True).click()
    expect(page.get_by_label("What did it buy?")).not_to_contain_text("Not known yet", timeout=600_000)
    verdict = notebook.ask("_.equality.verdict")
    assert verdict in VERDICTS and verdict != "wrong"
    expect(page.get_by_label("Is it the same?")).to_contain_text(VERDICT_WORDS[verdict][1])
    page.get_by_role("tab", name="Timings").click()
    expect(page.locator("img.hv-figure:visible")).to_be_visible()
    assert page.locator("img.hv-figure:visible").evaluate("image => image.naturalWidth") > 300
