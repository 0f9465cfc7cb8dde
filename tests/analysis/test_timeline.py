"""Schedules played on hardware: exposed and hidden time worked out by hand, and nothing that is unknown becomes zero."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import hyperviz as hv
from hyperviz.analysis import Hardware, estimate_timeline, find_regions, hardware_named, schedule_of
from hyperviz.analysis.networks import Network, Protocol
from hyperviz.models import GPT, GPTConfig
from hyperviz.snapshot import COMPUTE, Collective, Kernel, LiveValue, Schedule, Step, Timeline, from_json, to_json

LINK = Network(8, "", (Protocol(0, 0),))  # 1 MB a millisecond
SLOW = Hardware("slow", "Slow", {}, 1e-3, 0.0, 8, LINK, LINK)  # 1 kB a millisecond
MB = 10**6
ALIVE = tuple(LiveValue(f"v{index}", MB) for index in range(7))


def work(name, ms):
    return Step(name, "compute", work=(Kernel({}, None if ms is None else int(ms * 1000)),), live_bytes=10, least_bytes=5)


def launch(name):
    return Step(name, "launch")


def wait(name):
    return Step(name, "wait")


def gather(name, megabytes, group="0", waits=("w",), num_ranks=2):
    """On two ranks half of the payload is sent."""
    return Collective(name, waits, "all_gather", group, num_ranks, None if megabytes is None else int(2 * megabytes * MB))


def played(steps, *collectives) -> Timeline:
    return estimate_timeline(Schedule(tuple(steps), collectives), SLOW, title="t")


def times(timeline):
    return [(one.duration_ms, one.hidden_ms, one.exposed_ms) for one in timeline.collectives]


def test_what_compute_covers_is_hidden_and_the_rest_is_exposed():
    timeline = played([launch("g"), work("a", 3), wait("w"), work("b", 1)], gather("g", 5))
    assert times(timeline) == [(5, 3, 2)]
    assert (timeline.total_ms, timeline.compute_ms, timeline.exposed_ms, timeline.hidden_ms) == (6, 4, 2, 3)
    spans = [(span.lane, span.node, span.kind, span.start_ms, span.end_ms, span.cause) for span in timeline.spans]
    assert spans == [
        (COMPUTE, "a", "compute", 0, 3, ""),
        (COMPUTE, "w", "exposed", 3, 5, "g"),
        (COMPUTE, "b", "compute", 5, 6, ""),
        ("group 0", "g", "communication", 0, 5, ""),
    ]
    assert timeline.lanes == (COMPUTE, "group 0")
    assert [(point.at_ms, point.node) for point in timeline.memory] == [(0, "g"), (0, "a"), (3, "w"), (5, "b")]


def test_a_group_is_a_queue_and_groups_run_side_by_side():
    steps = [launch("g"), launch("h"), work("a", 1), wait("w"), wait("v")]
    timeline = played(steps, gather("g", 2), gather("h", 2, waits=("v",)))
    assert times(timeline) == [(2, 1, 1), (2, 0, 2)] and timeline.total_ms == 4
    timeline = played(steps, gather("g", 2), gather("h", 2, group="1", waits=("v",)))
    assert times(timeline) == [(2, 1, 1), (2, 1, 0)] and timeline.total_ms == 2


def test_exposed_time_and_compute_are_all_of_the_time():
    steps = [launch("g"), work("a", 2), launch("h"), wait("w"), work("b", 1), wait("v"), work("c", 1)]
    timeline = played(steps, gather("g", 3), gather("h", 4, waits=("v",)))
    assert timeline.total_ms == timeline.compute_ms + timeline.exposed_ms
    assert sum(one.duration_ms for one in timeline.collectives) == pytest.approx(timeline.hidden_ms + timeline.exposed_ms)


def test_communication_that_outlasts_compute_and_is_not_waited_for_counts_in_the_total():
    timeline = played([launch("g"), work("a", 1)], gather("g", 3, waits=()))
    assert times(timeline) == [(3, None, None)] and timeline.total_ms == 3
    assert timeline.exposed_ms is None and timeline.hidden_ms is None


def test_a_second_wait_costs_nothing():
    timeline = played([launch("g"), wait("w"), wait("v")], gather("g", 3, waits=("w", "v")))
    assert times(timeline) == [(3, 0, 3)] and timeline.total_ms == 3


def test_a_collective_that_is_complete_when_it_returns_is_exposed():
    timeline = played([launch("g"), work("a", 1)], gather("g", 3, waits=("g",)))
    assert times(timeline) == [(3, 0, 3)] and timeline.total_ms == 4


def test_unknown_work_makes_unknown_what_depends_on_it_and_nothing_else():
    steps = [launch("g"), work("a", 1), wait("w"), launch("h"), work("b", None), wait("v")]
    timeline = played(steps, gather("g", 3), gather("h", 4, waits=("v",)))
    assert times(timeline) == [(3, 1, 2), (4, None, None)]
    assert (timeline.total_ms, timeline.compute_ms, timeline.exposed_ms, timeline.hidden_ms) == (None, None, None, None)
    assert [span.node for span in timeline.spans if span.end_ms is None] == ["b", "v"]
    assert timeline.notes[-1] == "unknown: the time of b: what it does is not known, or Slow has no figure for its dtype"
    assert "step unknown · compute unknown · communication exposed unknown" in str(timeline)


def test_an_unknown_collective_makes_its_queue_unknown_until_it_is_waited_for():
    steps = [launch("g"), launch("h"), wait("w"), wait("v"), launch("i"), wait("u")]
    timeline = played(steps, gather("g", None), gather("h", 1, waits=("v",)), gather("i", 1, waits=("u",)))
    assert times(timeline) == [(None, None, None), (1, None, None), (1, 0, 1)]
    assert timeline.notes[-1] == "unknown: the size of g is not known"


def test_a_group_that_no_longer_exists_is_named():
    timeline = played([launch("g"), wait("w")], gather("g", 1, group="gone", num_ranks=None))
    assert timeline.exposed_ms is None
    assert timeline.notes[-1] == "unknown: how many ranks are in group 'gone' of g is not known"


def test_what_is_unknown_for_many_is_not_said_for_each():
    steps = [*(launch(f"g{index}") for index in range(9)), work("a", None), work("b", None), wait("w")]
    timeline = played(steps, *(gather(f"g{index}", None) for index in range(9)))
    assert timeline.notes[1:] == (
        "unknown: the size of g0 is not known",
        "unknown: the size of g1 is not known",
        "unknown: 7 more of that kind",
        "unknown: the time of a and 1 more: what it does is not known, or Slow has no figure for its dtype",
    )


def test_the_twin_in_words():
    schedule = Schedule((launch("g"), work("a", 3), wait("w")), (gather("g", 5),), 2 * MB, 4 * MB, 3 * MB, "a", ALIVE, ("a fact",))
    timeline = estimate_timeline(schedule, SLOW, title="two steps")
    assert str(timeline).split("\n") == [
        "two steps — estimated for Slow",
        "step 5 ms · compute 3 ms · communication exposed 2 ms, hidden 3 ms",
        "memory peak between 3 MB and 4 MB at a, besides inputs of 2 MB",
        "alive there: v0 1 MB, v1 1 MB, v2 1 MB, v3 1 MB, v4 1 MB, and 2 more",
        "collective  kind        group  payload  takes  hidden  exposed",
        "g           all_gather  0      10 MB    5 ms   3 ms    2 ms",
        "an estimate: work at the vendor's peak rates, collectives as rings with NCCL's latencies",
        "a fact",
    ]


def test_a_timeline_is_saved_and_comes_back():
    timeline = played([launch("g"), work("a", None), wait("w")], gather("g", 5))
    assert from_json(to_json(timeline)) == timeline
    schedule = Schedule((work("a", 1),), (gather("g", 5),))
    assert from_json(to_json(schedule)) == schedule
    with pytest.raises(ValueError, match=r"data.spans\[0\].kind must be one of compute, communication, exposed, got 'idle'"):
        from_json(to_json(timeline).replace('"kind":"compute"', '"kind":"idle"', 1))


def test_nothing_at_all_takes_no_time():
    timeline = played([])
    assert (timeline.total_ms, timeline.exposed_ms, timeline.lanes) == (0, 0, (COMPUTE,))


@pytest.fixture(scope="module")
def sharded():
    model = GPT(GPTConfig(num_layers=2, num_heads=2, width=32, context=16))
    inputs = {"tokens": torch.zeros(2, 16, dtype=torch.int64)}
    joint = hv.trace(model, lambda model, tokens: model(tokens).square().mean(), inputs, world=hv.FakeWorld(8))
    return hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*",)))


def test_a_sharded_step_adds_up_on_every_named_hardware(sharded):
    schedule = schedule_of(sharded.graph_module)
    for name in ("h100", "h200", "a100", "mi300x"):
        timeline = estimate_timeline(schedule, hardware_named(name))
        assert timeline.total_ms == pytest.approx(timeline.compute_ms + timeline.exposed_ms)
        assert timeline.exposed_ms > 0 and timeline.label.startswith("estimated for ")
        assert len(timeline.collectives) == len(schedule.collectives)


def test_regions_make_less_work_of_the_same_communication(sharded):
    h100 = hardware_named("h100")
    eager = estimate_timeline(schedule_of(sharded.graph_module), h100)
    runs = estimate_timeline(schedule_of(sharded.graph_module, find_regions(sharded.graph_module.graph, mode="regional")), h100)
    assert runs.compute_ms < eager.compute_ms
    assert [one.duration_ms for one in runs.collectives] == [one.duration_ms for one in eager.collectives]


def test_waiting_later_hides_more_and_waiting_at_once_hides_nothing(sharded):
    schedule = schedule_of(sharded.graph_module)
    waits = {wait: one.launch for one in schedule.collectives for wait in one.waits}
    at_once = []
    for step in schedule.steps:
        if step.name not in waits:
            at_once.append(step)
        if step.kind == "launch":
            at_once += [dataclasses.replace(other) for other in schedule.steps if waits.get(other.name) == step.name]
    timeline = estimate_timeline(dataclasses.replace(schedule, steps=tuple(at_once)), hardware_named("h100"))
    assert timeline.hidden_ms == pytest.approx(0, abs=1e-9)
