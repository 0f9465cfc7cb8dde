"""Progress of a compile, as a person reads it."""

import time

from hyperviz.snapshot import Progress
from hyperviz.widgets.progress import ProgressPanel, progress_bar


def test_a_bar_says_which_region_what_it_holds_and_how_long():
    html = progress_bar(Progress(2, 12, "region_2", "42 nodes of blocks.1.mlp", seconds=8, seconds_left=40), 10)
    assert 'max="12" value="2"' in html
    assert "region_2 (3 of 12)" in html
    assert "42 nodes of blocks.1.mlp" in html
    assert "10.0 s so far, about 38.0 s left" in html


def test_a_bar_without_a_total_promises_nothing():
    html = progress_bar(Progress(0, 0, what="comparing"), 3)
    assert "value=" not in html and "left" not in html
    assert "comparing" in html


def test_the_clock_goes_on_within_a_region_and_ends_with_the_job():
    panel = ProgressPanel()
    panel.begin("compiling")
    first = panel.value
    deadline = time.monotonic() + 10
    while panel.value == first and time.monotonic() < deadline:
        time.sleep(0.05)
    assert panel.value != first
    panel.end()
    assert panel.value == ""
