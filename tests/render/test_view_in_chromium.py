"""The view's module in a real browser: act as a person, read the page."""

import json
import os
import shutil
from importlib.resources import files

import pytest
from playwright.sync_api import sync_playwright

from hyperviz.render import html, overlay, svg
from hyperviz.snapshot import Timing, Timings

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        reason = "no Chromium on PATH: install it (Debian: apt-get install chromium) to run the browser tests"
        pytest.fail(reason) if os.environ.get("HYPERVIZ_REQUIRE_BROWSER") == "1" else pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a page from a file; the test fails if the page logged an error or asked for anything else."""
    contexts, troubles = [], []

    def open_(text, **how):
        (tmp_path / "page.html").write_text(text, encoding="utf-8", errors="surrogatepass")
        context = browser.new_context(viewport={"width": 1000, "height": 700}, **how)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
        page.on("request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or troubles.append(request.url))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def view(open_page, plan, off):
    """A tall page with the picture, mounted, and the plans' overlays."""
    module = files("hyperviz.render").joinpath("view.js").read_text()
    overlays = json.dumps({"regional": overlay(plan), "off": overlay(off)})
    return open_page(
        f"""<!doctype html><meta charset=utf-8><style>body{{margin:0;height:3000px}}</style>
        <div id=root style="height:600px">{svg(plan)}</div><input id=field>
        <script type=module>{module}
        window.said = []; window.overlays = {overlays};
        const say = (what) => (value) => window.said.push(value === undefined ? what : `${{what}} ${{value}}`);
        window.view = mount(document.getElementById("root"), {{onSelect: say("select"), onSearch: say("search"), onTable: say("table")}});
        window.leaks = []; document.addEventListener("keydown", (event) => window.leaks.push(event.key));
        </script>"""
    )


def fill(page, name):
    return page.eval_on_selector(f'.hv-node[data-name="{name}"] rect', "(rect) => getComputedStyle(rect).fill")


def test_recolouring_changes_attributes_and_colours_and_moves_nothing(view):
    def places():
        return view.evaluate("[...document.querySelectorAll('.hv-node rect')].map((one) => JSON.stringify(one.getBoundingClientRect()))")

    before, blue = places(), fill(view, "relu")
    view.evaluate("view.recolour(overlays.off)")
    assert view.locator('.hv-node[data-name="relu"]').get_attribute("data-region") is None
    assert fill(view, "relu") != blue
    assert view.locator(".hv-subtitle").text_content() == "off · 0 regions · 0 nodes compiled · 10 eager"
    assert view.locator('.hv-node[data-name="gather"] tspan').text_content() == ""
    assert places() == before
    view.evaluate("view.recolour(overlays.regional)")
    assert fill(view, "relu") == blue
    assert view.locator('.hv-node[data-name="gather"]').get_attribute("data-role") == "collective"
    assert view.locator('.hv-node[data-name="gather"] tspan').text_content().strip() == "»"


def test_a_click_selects_and_lights_the_edges(view):
    view.click('.hv-node[data-name="mm"]')
    assert view.evaluate("said") == ["select mm"]
    assert view.evaluate("view.selected") == "mm"
    lit = view.evaluate("[...document.querySelectorAll('.hv-lit')].map((one) => [one.dataset.from, one.dataset.to])")
    assert sorted(lit) == [["mm", "copy_"], ["mm", "loss"], ["relu", "mm"], ["wait", "mm"]]
    assert view.locator(".hv-spoken").text_content() == "mm, compute, region 1, forward; reads 2, read by 2"


def test_arrows_follow_edges_and_keys_stay_inside(view):
    view.click('.hv-node[data-name="gather"]')
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        view.keyboard.press(key)
    assert view.evaluate("said") == ["select gather", "select wait", "select mm", "select loss"]
    view.keyboard.press("ArrowRight")  # the saved value
    assert view.evaluate("view.selected") == "ones"
    view.keyboard.press("ArrowUp")
    assert view.evaluate("view.selected") == "grad"
    view.keyboard.press("n")
    view.keyboard.press("p")
    assert view.evaluate("view.selected") == "grad"
    view.keyboard.press("/")
    view.keyboard.press("t")
    assert view.evaluate("said.slice(-2)") == ["search", "table"]
    assert view.evaluate("leaks") == []
    view.keyboard.press("q")  # one that the view does not know
    assert view.evaluate("leaks") == ["q"]


def test_escape_clears_and_then_leaves(view):
    view.click('.hv-node[data-name="mm"]')
    view.keyboard.press("Escape")
    assert view.evaluate("view.selected") == "" and view.evaluate("document.activeElement.tagName") == "svg"
    view.keyboard.press("Escape")
    assert view.evaluate("document.activeElement.tagName") == "BODY"


def test_the_wheel_scrolls_the_page_until_the_picture_has_focus(view):
    def scale():
        return view.evaluate("document.querySelector('.hv-viewport').transform.baseVal.consolidate()?.matrix.a ?? 1")

    view.mouse.move(500, 300)
    view.mouse.wheel(0, 200)
    view.wait_for_function("scrollY > 0")
    assert scale() == 1
    view.evaluate("scrollTo(0, 0)")
    view.evaluate("view.focus()")
    view.mouse.wheel(0, -200)
    view.wait_for_function("document.querySelector('.hv-viewport').transform.baseVal.consolidate().matrix.a > 1")
    assert view.evaluate("scrollY") == 0


def test_dragging_pans_and_is_no_click(view):
    view.mouse.move(80, 300)
    view.mouse.down()
    view.mouse.move(180, 330, steps=3)
    view.mouse.up()
    assert view.evaluate("said") == []
    before = view.evaluate("document.querySelector('.hv-viewport').getAttribute('transform')")
    assert before != "translate(0 0) scale(1)"
    view.keyboard.press("0")
    assert view.evaluate("document.querySelector('.hv-viewport').getAttribute('transform')") == "translate(0 0) scale(1)"


def test_search_dims_what_does_not_match(view):
    assert view.evaluate("view.search('_c10d wait')") == ["wait", "wait_1"]
    assert view.locator(".hv-node:not(.hv-dim)").count() == 2
    assert view.evaluate("view.search('region_3')") == ["grad"]
    assert view.evaluate("view.search('')") == view.evaluate("Object.keys(overlays.off.nodes)")
    assert view.locator(".hv-dim").count() == 0


def test_a_view_far_away_comes_back_when_a_node_is_selected(view):
    view.evaluate("view.zoom(6)")
    view.evaluate("view.select('wait_1')")
    box = view.locator('.hv-node[data-name="wait_1"] rect').bounding_box()
    assert 0 < box["x"] < 1000 and 0 < box["y"] < 600
    assert view.evaluate("said") == []


def test_destroy_takes_every_listener_back(view):
    view.evaluate("view.destroy()")
    view.click('.hv-node[data-name="mm"]')
    assert view.evaluate("said") == [] and view.locator(".hv-spoken").count() == 0


def test_the_theme_is_the_pages(open_page, plan):
    for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 21, 26)")):
        page = open_page(f'<!doctype html><html style="color-scheme:{scheme}">{svg(plan)}', color_scheme="light")
        assert page.eval_on_selector(".hv-paper", "(one) => getComputedStyle(one).fill") == paper
    dark_lab = f'<!doctype html><body data-jp-theme-light="false">{svg(plan)}'
    assert open_page(dark_lab).eval_on_selector(".hv-paper", "(one) => getComputedStyle(one).fill") == "rgb(18, 21, 26)"


def test_a_report_works_from_a_file(open_page, plan, off):
    timings = Timings((Timing("off", (2.0, 2.1), 2.05, 2.0, 2.1), Timing("regional", (1.0, 1.1), 1.05, 1.0, 1.1)), 0.5)
    page = open_page(html({"off": off, "regional": plan}, timings=timings, command="x"))
    assert page.locator('.modes [aria-pressed="true"]').text_content() == "regional"
    colored = fill(page, "mm")
    page.click('.modes [data-label="off"]')
    assert fill(page, "mm") != colored
    page.click('.hv-node[data-name="mm"]')
    assert "off: nothing is compiled" in page.locator("#inspector").inner_text()
    page.click('.modes [data-label="regional"]')
    assert "compute, in region 1" in page.locator("#inspector").inner_text()
    page.click('#inspector [data-node="loss"]')
    assert page.locator(".hv-selected").get_attribute("data-name") == "loss"
    page.fill("#search", "aten.mm")
    assert page.locator("#found").text_content() == "2 found"
    page.keyboard.press("Enter")
    assert page.locator(".hv-selected").get_attribute("data-name") == "mm"
    page.click("#nodes summary")
    page.locator("#nodes tbody tr:visible").last.wait_for()  # a page fills what is folded once it was told that it opened
    assert page.locator("#nodes tbody tr:visible").count() == 2
    with page.expect_download() as download:
        page.click("#save-svg")
    assert 'data-region="1"' in download.value.path().read_text()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background


def test_a_hidden_copy_takes_no_patterns_away(open_page, plan):
    module = files("hyperviz.render").joinpath("view.js").read_text()
    copy = f'<div class=root style="height:300px">{svg(plan)}</div>'
    mounted = f"<script type=module>{module} document.querySelectorAll('.root').forEach((root) => mount(root));</script>"

    def effect(body):
        page = open_page(f"<!doctype html><meta charset=utf-8><body style='margin:0'>{body}{mounted}")
        return page.locator('.hv-node[data-name="copy_"] rect >> visible=true').screenshot()

    assert effect(f'<div style="display:none">{copy}</div>{copy}') == effect(copy)


def test_a_selected_collective_marks_its_wait_and_what_computes_between(view):
    view.evaluate("view.recolour(overlays.regional)")
    view.click('.hv-node[data-name="gather"]')
    assert view.locator(".hv-mate").evaluate_all("(nodes) => nodes.map((node) => node.dataset.name)") == ["wait"]
    assert view.locator(".hv-inside").evaluate_all("(nodes) => nodes.map((node) => node.dataset.name)") == ["relu"]
    assert view.locator(".hv-spoken").text_content().endswith("; belongs to wait, with 1 at work between")
    view.keyboard.press("w")
    assert view.evaluate("view.selected") == "wait"
    assert view.locator(".hv-mate").get_attribute("data-name") == "gather"
    view.keyboard.press("w")
    view.keyboard.press("Escape")
    assert view.locator(".hv-mate, .hv-inside").count() == 0


def test_the_report_marks_them_too_and_says_what_they_are(open_page, plan, off):
    page = open_page(html({"off": off, "regional": plan}))
    page.click('.canvas:not([hidden]) .hv-node[data-name="wait"]')
    assert page.locator(".canvas:not([hidden]) .hv-mate").get_attribute("data-name") == "gather"
    said = page.locator("#inspector").inner_text()
    assert "0 all_gather of blocks.0.fc.weight" in said and "Its launch\ngather" in said and "blocks.0 gather" in said
