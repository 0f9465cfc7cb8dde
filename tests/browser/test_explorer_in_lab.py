"""A person works with the explorer: mouse, keyboard, and the kernel behind the page."""

import re

import pytest
from lab_page import NotebookPage
from playwright.sync_api import expect

CELL = """
from hand_made import HandMadeBackend
from hyperviz.widgets import Explorer

backend = HandMadeBackend(3)
explorer = Explorer(backend)
explorer
"""


@pytest.fixture(scope="module")
def opened(lab, watched):
    """One notebook and one kernel for this module: every test runs its cell again, and begins with a new explorer."""
    lab.write("explorer.ipynb", [CELL])
    yield NotebookPage.open(lab, watched.page, "explorer.ipynb")
    lab.shut_down_kernels()


@pytest.fixture
def notebook(opened, page):
    opened.run_all()
    expect(page.locator(".hv-live .hv-node").first).to_be_visible(timeout=30_000)
    return opened


def node(notebook, name):
    return notebook.page.locator(f".hv-live .hv-node[data-name='{name}']").first


def fills(notebook):
    """Node name → the colour that the browser computed for it."""
    return notebook.page.locator(".hv-live .hv-node").evaluate_all(
        "nodes => Object.fromEntries(nodes.map(node => [node.dataset.name, getComputedStyle(node.querySelector('rect')).fill]))"
    )


def places(notebook):
    """Node name → where its box stands in the picture."""
    return notebook.page.locator(".hv-live .hv-node").evaluate_all(
        "nodes => Object.fromEntries(nodes.map(node => [node.dataset.name, node.querySelector('rect').getAttribute('x')"
        " + ',' + node.querySelector('rect').getAttribute('y')]))"
    )


def compile_(notebook):
    notebook.page.get_by_role("button", name="Compile", exact=True).click()
    expect(notebook.page.get_by_label("What did it buy?")).to_contain_text("faster", timeout=60_000)


def test_the_mouse_turns_the_mode_and_colours_change_while_places_stay(notebook):
    before, where = fills(notebook), places(notebook)
    notebook.page.get_by_role("button", name="regional").click()
    expect(node(notebook, "mm_0")).to_have_attribute("data-region", "0")
    regional = fills(notebook)
    assert regional["mm_0"] != before["mm_0"]
    assert regional["mm_0"] == regional["relu_0"] != regional["mm_grad_0"]
    notebook.page.get_by_role("button", name="full").click()
    expect(node(notebook, "mm_grad_0")).to_have_attribute("data-region", "0")
    assert fills(notebook)["mm_grad_0"] == regional["mm_0"]
    assert places(notebook) == where
    notebook.expect_in_kernel("(explorer.mode, backend.calls)", ("full", ["plan"] * 3))


def test_the_keyboard_turns_the_mode(notebook):
    off = notebook.page.get_by_role("button", name="off", exact=True)
    expect(off).to_have_attribute("aria-pressed", "true")
    off.focus()
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press("Enter")
    expect(node(notebook, "mm_0")).to_have_attribute("data-region", "0")
    expect(notebook.page.get_by_role("button", name="regional")).to_have_attribute("aria-pressed", "true")
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press(" ")
    expect(notebook.page.get_by_label("What is compiled?")).to_contain_text("1 region")
    notebook.expect_in_kernel("explorer.mode", "full")


def test_compile_says_the_same_verdict_on_the_page_and_in_the_kernel(notebook):
    notebook.page.get_by_role("button", name="regional").click()
    compile_(notebook)
    expect(notebook.page.get_by_label("Is it the same?")).to_contain_text("Equal up to rounding")
    assert notebook.ask("(explorer.equality.verdict, explorer.report.mode, explorer.stale)") == ("rounding", "regional", False)
    notebook.page.get_by_role("button", name="full").click()
    expect(notebook.page.get_by_label("Is it the same?")).to_contain_text("of an earlier compile: regional")
    for name, words in (
        ("Timings", "Time per step"),
        ("Equality", "grad of layers.0.weight"),
        ("Plan", "region_0"),
        ("Log", "planned full"),
    ):
        notebook.page.get_by_role("tab", name=name).click()
        expect(notebook.page.locator(".hv-tabs").get_by_text(words).first).to_be_visible()


def test_progress_is_shown_and_stop_stops(notebook):
    notebook.page.get_by_role("button", name="regional").click()
    notebook.ask("backend.gate.clear()")
    notebook.page.get_by_role("button", name="Compile", exact=True).click()
    expect(notebook.page.get_by_text("region_0 (1 of 2)")).to_be_visible(timeout=30_000)
    expect(notebook.page.get_by_text("nodes of layers.0")).to_be_visible()
    notebook.page.get_by_role("button", name="Compiling…").click()
    expect(notebook.page.get_by_text("A compile is running")).to_be_visible()
    assert notebook.ask("1 + 1") == 2  # the kernel is free while a compile runs
    notebook.page.get_by_role("button", name="Stop", exact=True).click()
    expect(notebook.page.get_by_role("button", name="Stopping…")).to_be_visible()
    notebook.ask("backend.gate.set()")
    expect(notebook.page.get_by_text("Stopped.").first).to_be_visible(timeout=30_000)
    assert notebook.ask("explorer.report") is None


def test_a_click_selects_and_the_inspector_says_what_the_node_is(notebook):
    node(notebook, "mm_1").click()
    inspector = notebook.page.get_by_label("Inspector")
    expect(inspector).to_contain_text("aten.mm.default")
    expect(inspector).to_contain_text("mode off compiles nothing")
    expect(inspector).to_contain_text("</script><img src=x onerror=alert(1)> a -> {b|c}")
    notebook.expect_in_kernel("explorer.view.selected", "mm_1")
    inspector.get_by_role("button", name="relu_1").click()
    expect(node(notebook, "relu_1")).to_have_class("hv-node hv-selected")
    notebook.ask("setattr(explorer.view, 'selected', 'loss')")
    expect(inspector.get_by_role("heading", name="loss")).to_be_visible()


def test_the_keyboard_walks_searches_tabulates_and_leaves(notebook):
    page = notebook.page
    node(notebook, "mm_0").click()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Inspector")).to_contain_text("relu_0")
    page.keyboard.press("b")
    expect(page.get_by_label("Inspector").get_by_role("heading", name="relu_grad_0")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search nodes")).to_be_focused()
    page.keyboard.type("aten.mm")
    expect(page.locator(".hv-count")).to_have_text("6 of 20")
    expect(node(notebook, "relu_0")).to_have_class("hv-node hv-dim")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Inspector").get_by_role("heading", name="mm_0")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".hv-count")).to_be_empty()
    page.keyboard.press("t")
    expect(page.locator(".hv-nodes tbody tr")).to_have_count(20)
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hv-nodes tr[aria-selected] th")).to_have_text("relu_0")
    page.keyboard.press("t")
    expect(node(notebook, "relu_0")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".hv-live svg.hyperviz")).not_to_be_focused()


def test_no_key_reaches_the_notebook(notebook):
    page = notebook.page
    cells = page.locator(".jp-Cell").count()
    node(notebook, "mm_0").click()
    for key in ("a", "b", "x", "d", "d", "m", "y", "Enter", "Shift+Enter", "j", "k"):
        page.keyboard.press(key)
    page.get_by_role("button", name="regional").focus()
    for key in ("a", "b", "x", "d", "d", "m", "j", "k"):
        page.keyboard.press(key)
    page.get_by_label("Search nodes").focus()
    page.keyboard.type("abxddm")
    assert page.locator(".jp-Cell").count() == cells
    assert page.locator(".jp-CodeCell").count() == cells
    expect(page.locator(".jp-Notebook")).to_have_class(re.compile("jp-mod-commandMode"))
    notebook.expect_in_kernel("explorer.view.search", "abxddm")


def test_the_wheel_scrolls_the_page_until_the_picture_has_focus(notebook):
    page = notebook.page
    canvas, viewport = page.locator(".hv-canvas"), page.locator(".hv-live .hv-viewport")
    canvas.hover()
    still = viewport.get_attribute("transform")
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(300)
    assert viewport.get_attribute("transform") == still
    page.locator(".hv-live svg.hyperviz").focus()
    canvas.hover()
    page.mouse.wheel(0, -100)
    expect(viewport).not_to_have_attribute("transform", still)


def test_a_wrong_setting_is_refused_beside_its_field_and_a_right_one_is_taken(notebook):
    page = notebook.page
    page.get_by_role("tab", name="Settings").click()
    page.get_by_placeholder("Search 5 settings…").fill("fusion_size")
    expect(page.locator(".hv-settings-list option")).to_have_count(1)
    page.locator(".hv-settings-list select").select_option("max_fusion_size")
    field = page.locator(".hv-settings-field input")
    field.fill("'many'")
    field.press("Enter")
    expect(page.locator(".hv-settings-about").get_by_role("alert")).to_contain_text("must be int, got 'many'")
    field.fill("8")
    field.press("Enter")
    expect(page.get_by_text("max_fusion_size = 8")).to_be_visible()
    expect(page.get_by_text("No effect: mode 'off' compiles no region")).to_be_visible()
    notebook.expect_in_kernel("dict(explorer.settings)", {"max_fusion_size": 8})


def test_the_saved_picture_is_hidden_while_the_live_view_is_there_and_back_when_it_is_closed(notebook):
    expect(notebook.page.locator(".jp-RenderedSVG")).to_be_hidden()
    expect(notebook.page.get_by_text("This is the saved picture")).to_be_hidden()
    notebook.ask("explorer.close()")
    expect(notebook.page.locator(".jp-RenderedSVG")).to_be_visible()
    expect(notebook.page.get_by_text("This is the saved picture")).to_be_visible()
    expect(notebook.page.locator(".hv-live")).to_have_count(0)


def test_ctrl_s_saves_from_within_the_view(notebook):
    node(notebook, "mm_0").click()
    notebook.page.keyboard.press("Control+s")
    expect(notebook.page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)


def test_what_is_told_before_a_compile_leads_to_the_graph_and_back(notebook):
    page = notebook.page
    page.get_by_role("button", name="regional").click()
    expect(page.locator(".hv-knobs option").first).to_have_text(re.compile("runs.—.26.regions,.7.distinct"))
    page.get_by_role("tab", name="Timeline").click()
    span = page.locator(".hv-timeline .hv-span[data-span='region_0']")
    span.click()
    expect(node(notebook, "mm_0")).to_have_class(re.compile("hv-selected"))
    expect(page.get_by_text("region_0 computes from 0 ms to 1 ms")).to_be_visible()
    assert span.locator("rect").first.evaluate("rect => getComputedStyle(rect).strokeWidth") == "3px"
    node(notebook, "mm_1").click(modifiers=["Shift"])
    expect(page.locator(".hv-apart")).to_contain_text("No: gather_1 runs outside regions.")
    notebook.expect_in_kernel("(explorer.view.selected, backend.asked[-1])", ("mm_0", ("apart", "mm_0", "mm_1")))


def test_a_second_view_shows_the_same(open_notebook):
    notebook = open_notebook(CELL, "explorer")
    notebook.run_all()
    views = notebook.page.locator(".hv-live")
    expect(views).to_have_count(2)
    expect(views.nth(1).locator(".hv-node[data-name='mm_0']")).to_be_visible()
    views.nth(0).locator(".hv-node[data-name='mm_0']").click()
    expect(views.nth(1).locator(".hv-node[data-name='mm_0']")).to_have_class("hv-node hv-selected")
    notebook.page.get_by_role("button", name="regional").first.click()
    expect(views.nth(1).locator(".hv-node[data-name='mm_0']")).to_have_attribute("data-region", "0")


def test_a_picture_that_cannot_be_drawn_becomes_a_table_and_a_sentence(open_notebook):
    notebook = open_notebook("from hyperviz import render\nrender.svg = lambda *_: 1 / 0", CELL)
    notebook.run_all()
    expect(notebook.page.locator(".hv-notice")).to_contain_text("The picture cannot be drawn (division by zero)")
    expect(notebook.page.locator(".hv-nodes tbody tr")).to_have_count(20)
