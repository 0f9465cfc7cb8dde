"""What was captured on a world of ranks that do not exist says so in every form that it is drawn, written or saved in."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from hyperviz.render import dot, html, overlay, pdf, png, svg, text
from hyperviz.snapshot import GraphSnapshot, Plan, from_json, to_json

WORDS = "fake world of 1,024 ranks: not run"


@pytest.fixture
def fake(plan):
    return replace(plan, graph=replace(plan.graph, fake_world=1024))


def test_every_text_says_it(fake):
    assert WORDS in str(fake)
    assert text(fake).splitlines()[1] == WORDS
    assert overlay(fake)["caveat"] == WORDS
    heading = dot(fake).partition("node [")[0]
    assert WORDS in heading


@pytest.mark.parametrize("still", [False, True])
def test_the_svg_says_it_in_a_line_of_its_own_and_aloud(fake, still):
    picture = svg(fake, still=still)
    assert f">{WORDS}</text>" in picture
    assert WORDS in picture.partition("<style>")[0]


def test_png_and_pdf_have_a_line_for_it_in_the_colour_of_alarm(fake, plan):
    def reds(picture):
        # Title, mode and caveat stand in the upper 90 pixels, all other red below.
        pixels = np.asarray(Image.open(io.BytesIO(png(picture))).convert("RGB")).astype(int)
        upper = pixels[:90]
        return int(((upper[..., 0] > 150) & (upper[..., 1] < 80)).sum())

    assert reds(fake) > 100 > reds(plan) == 0
    assert len(pdf(fake)) > len(pdf(replace(fake, graph=replace(fake.graph, fake_world=None))))


def test_the_report_says_it_once_at_its_head_and_calls_no_time_or_result_known(fake, off):
    page = html({"regional": fake, "off": replace(off, graph=fake.graph)})
    head = page.partition("</header>")[0]
    assert head.count(f'<p class="caveat">{WORDS}</p>') == 1
    assert page.count("<td>not run</td>") + page.count('<td class="number">not run</td>') == 4


def test_it_is_kept_when_saved(fake):
    assert from_json(to_json(fake)) == fake
    assert from_json(to_json(fake.graph)).caveat == WORDS


def test_a_graph_that_can_run_says_nothing_of_it(plan):
    assert plan.graph.caveat == GraphSnapshot(()).caveat == ""
    assert "not run" not in str(Plan.of_graph(plan.graph))


def test_one_rank_is_one_rank():
    assert GraphSnapshot((), fake_world=1).caveat == "fake world of 1 rank: not run"
