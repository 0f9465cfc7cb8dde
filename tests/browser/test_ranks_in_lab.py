"""A person looks at a sharded step, follows a gather to its wait, and lets two real ranks compile it."""

import re

import pytest
from lab_page import NotebookPage
from playwright.sync_api import expect

SETUP = """
import torch, torch.distributed as dist, hyperviz as hv

def build():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    rank = dist.get_rank() if dist.is_initialized() else 0
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(rank))
    return model, lambda model, x: model(x).square().mean(), {"x": x}

config = hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("0", "2"), enable_overlap=True, inductor_mode="regional")
"""
CELL = "explorer = hv.explore(hv.trace(*build()), config=config, ranks=hv.Ranks(build, link=hv.Link(20, 100)))\nexplorer"
NAMES = "nodes => nodes.map(node => node.dataset.name)"


@pytest.fixture(scope="module")
def notebook(lab, watched):
    lab.write("sharded.ipynb", [SETUP, CELL])
    notebook = NotebookPage.open(lab, watched.page, "sharded.ipynb")
    notebook.run_all()
    expect(watched.page.locator(".hv-live .hv-node").first).to_be_visible(timeout=60_000)
    yield notebook
    lab.shut_down_kernels()


def test_a_gather_leads_to_its_wait_and_to_what_computes_between(notebook, page):
    window = notebook.ask(
        "[(one.launch, one.waits[0], list(one.compute_inside)) for one in explorer.plan.graph.collectives if one.compute_inside][0]"
    )
    launch, wait, inside = window
    page.get_by_role("tab", name="Communication").click()
    page.locator(f".hv-tabs [data-node='{launch}']").first.click()
    expect(page.locator(".hv-live .hv-selected")).to_have_attribute("data-name", launch)
    expect(page.locator(".hv-live .hv-mate")).to_have_attribute("data-name", wait)
    assert page.locator(".hv-live .hv-inside").evaluate_all(NAMES) == inside
    inspector = page.get_by_label("Inspector")
    expect(inspector).to_contain_text("0 (2 ranks)")
    expect(inspector).to_contain_text(re.compile(r"\d+ nodes? at work between launch and wait: kept"))
    page.locator(".hv-live svg.hyperviz").focus()
    page.keyboard.press("w")
    expect(inspector.get_by_role("heading", name=wait, exact=True)).to_be_visible()
    expect(page.locator(".hv-live .hv-mate")).to_have_attribute("data-name", launch)
    notebook.expect_in_kernel("explorer.view.selected", wait)


def test_the_table_sorts_by_payload_and_back(notebook, page):
    page.get_by_role("tab", name="Communication").click()
    rows = page.locator(".hv-tabs tbody tr [data-key]:nth-child(4)")
    sizes = [int(key) for key in rows.evaluate_all("cells => cells.map(cell => cell.dataset.key)")]
    heading = page.get_by_role("button", name="Payload")
    for order in ("ascending", "descending"):
        heading.click()
        expect(page.locator(f"th[aria-sort='{order}']")).to_have_text("Payload")
        now = [int(key) for key in rows.evaluate_all("cells => cells.map(cell => cell.dataset.key)")]
        assert now == sorted(sizes, reverse=order == "descending")


def test_two_real_ranks_compile_and_each_has_its_verdict(notebook, page):
    expect(page.get_by_text("fake world of 2 ranks: not run — Compile runs it on 2 real ranks")).to_be_visible()
    page.get_by_role("button", name="Compile", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="starting 2 ranks")).to_be_visible()
    expect(page.get_by_text("Compiled and run on 2 real ranks on gloo, over a simulated link: 20 µs, 100 Gb/s")).to_be_visible(
        timeout=240_000
    )
    expect(page.get_by_label("What did it buy?")).to_contain_text("simulated link: 20 µs, 100 Gb/s")
    page.get_by_role("tab", name="Ranks").click()
    rows = page.locator(".hv-tabs tr:has(td .hv-verdict)")
    expect(rows.filter(visible=True)).to_have_count(2)
    expect(page.locator(".hv-slowest")).to_have_count(1)
    expect(page.locator("img.hv-figure:visible")).to_be_visible()
    expect(page.locator(".hv-live .hv-caveat")).to_be_empty()
    assert notebook.ask("[one.equality.verdict for one in explorer.ranks.ranks]") in (
        [first, second] for first in ("bitwise", "rounding") for second in ("bitwise", "rounding")
    )
