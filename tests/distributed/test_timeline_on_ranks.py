"""Timelines of a real step on two ranks over a link: measured, and estimated for the same."""

import pytest
import timeline_work

from hyperviz.distributed import Link, launch
from hyperviz.snapshot import COMPUTE

LINK = Link(latency_us=3000, gbps=1)


@pytest.fixture(scope="module")
def ranks():
    return launch(timeline_work.measured, num_ranks=2, link=LINK)


def test_each_rank_says_that_its_timeline_was_measured_and_over_what(ranks):
    for rank, (measured, _) in enumerate(ranks):
        assert measured.label.startswith("measured on ")
        assert measured.label.endswith(f"rank {rank} of 2, simulated link: 3000 µs, 1 Gb/s")
        assert "how long a collective takes was measured by itself" in measured.notes[1]


def test_no_collective_was_faster_than_the_link_and_exposed_time_is_in_the_lanes(ranks):
    for measured, _ in ranks:
        assert {one.kind for one in measured.collectives} == {"all_gather", "reduce_scatter", "all_reduce"}
        for one in measured.collectives:
            assert one.duration_ms >= LINK.seconds(0) * 1e3
            assert one.exposed_ms >= 0 and 0 <= one.hidden_ms <= one.duration_ms
        stood = sum(span.duration_ms for span in measured.spans if span.kind == "exposed")
        assert measured.exposed_ms == pytest.approx(stood)
        assert measured.total_ms == pytest.approx(measured.compute_ms + measured.exposed_ms)
        # Every gather is waited for at once: a step of some milliseconds of compute cannot hide the link.
        assert measured.exposed_ms > 10 * LINK.seconds(0) * 1e3


def test_the_estimate_for_this_machine_takes_the_link_that_is_there_and_agrees_on_what_happens(ranks):
    for measured, estimated in ranks:
        assert estimated.label.endswith("over a link of 3000 µs and 1 Gb/s")
        assert [one.launch for one in estimated.collectives] == [one.launch for one in measured.collectives]
        assert measured.lanes == estimated.lanes == (COMPUTE, "group 0")
        # The estimate leaves operators' own scratch memory out, gloo's among it.
        assert estimated.peak_bytes <= measured.peak_bytes <= 1.2 * estimated.peak_bytes
        assert estimated.exposed_ms > 10 * LINK.seconds(0) * 1e3
