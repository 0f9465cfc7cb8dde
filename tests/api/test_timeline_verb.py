"""``hv.timeline``: estimates and measurements of real steps, shown and exported in every form."""

from __future__ import annotations

import json

import pytest
import torch

import hyperviz as hv
from hyperviz.analysis import Hardware
from hyperviz.graph.handing import hand_over
from hyperviz.models import GPT, GPTConfig
from hyperviz.snapshot import COMPUTE, from_json

REGIONAL = hv.PassConfig(inductor_mode="regional", keep_eager=("aten.native_layer_norm*",))


def next_byte(model, tokens):
    return torch.nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def gpt(world=None):
    torch.manual_seed(0)
    model, inputs = GPT(GPTConfig(num_layers=1, num_heads=2, width=32, context=16)), {"tokens": torch.randint(0, 256, (2, 16))}
    return model, inputs, hv.trace(model, next_byte, inputs, world=world)


@pytest.fixture(scope="module")
def step():
    model, inputs, joint = gpt()
    return joint, joint.flat_inputs(model, inputs), hv.compile(joint, REGIONAL)


@pytest.fixture(scope="module")
def sharded():
    _, _, joint = gpt(hv.FakeWorld(16))
    return hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, fsdp_degree=8, fsdp_wrap=("blocks.*",)))


def test_a_plan_is_estimated_as_its_compiled_graph_is(step):
    joint, _, compiled = step
    planned, done = hv.timeline(joint, REGIONAL, hardware="H200"), hv.timeline(compiled, hardware="h200")
    assert planned.label == done.label == "estimated for H200 SXM 141 GB"
    assert (planned.total_ms, planned.peak_bytes, planned.least_peak_bytes) == (done.total_ms, done.peak_bytes, done.least_peak_bytes)
    first, second = ([point for point in one.memory if point.node.startswith("region_")] for one in (planned, done))
    assert first == second
    assert [span.node for span in planned.spans] == [span.node for span in done.spans]
    assert (planned.title, done.title) == ("GPT: regional, runs", "GPT: regional, runs, compiled")
    assert planned.total_ms < hv.timeline(joint, hardware="h200").total_ms


def test_a_sharded_step_of_a_fake_world_is_estimated_and_says_that_it_was_not_run(sharded):
    timeline = hv.timeline(sharded, hardware="h100")
    assert timeline.notes[0] == "fake world of 16 ranks: not run"
    assert timeline.exposed_ms > 0 and timeline.hidden_ms is not None
    replicas = [one for one in timeline.collectives if one.group == "replicas"]
    shards = [one for one in timeline.collectives if one.group == "shards" and one.kind == "all_gather"]
    # Replicas are on different nodes: the network's latency is in every one of them.
    assert replicas and min(one.duration_ms for one in replicas) > max(one.duration_ms for one in shards if one.payload_bytes < 1000)


def test_a_link_of_ones_own_takes_the_place_of_the_hardwares(sharded):
    link = hv.Link(latency_us=1000, gbps=1)
    slow = hv.timeline(sharded, hardware="h100", link=link)
    assert slow.label == "estimated for H100 SXM 80 GB over a link of 1000 µs and 1 Gb/s"
    assert all(one.duration_ms >= 1 for one in slow.collectives)


def test_this_cpu_is_measured_and_its_links_are_unknown(sharded, step):
    joint, _, _ = step
    timeline = hv.timeline(joint, hardware="cpu")
    assert timeline.total_ms > 0 and "thread" in timeline.label
    assert timeline.notes == ("an estimate from rates measured on this machine",)
    unknown = hv.timeline(sharded, hardware="cpu")
    assert unknown.total_ms is None and unknown.exposed_ms is None and unknown.compute_ms > 0
    assert "no figures are known for the link between ranks" in unknown.notes[-1]
    assert hv.timeline(sharded, hardware="cpu", link=hv.Link()).total_ms > 0


def test_figures_of_ones_own_are_taken(step):
    mine = Hardware("mine", "My chip", {"float32": 1.0}, 100.0)
    assert hv.timeline(step[0], hardware=mine).label == "estimated for My chip"


def test_a_measurement_runs_the_step_and_says_where(step):
    joint, flat, compiled = step
    before = [value.clone() for value in flat]
    for program in (joint, compiled):
        timeline = hv.timeline(program, flat=flat, rounds=2)
        assert timeline.label.startswith("measured on ") and "thread" in timeline.label
        assert timeline.lanes == (COMPUTE,) and timeline.total_ms == timeline.compute_ms > 0
        assert timeline.peak_bytes == timeline.least_peak_bytes == max(point.live_bytes for point in timeline.memory)
        assert timeline.notes[0].startswith("medians of 2 runs of each node")
        # A region and what hands its inputs over are one step.
        calls = [node for node in program.graph_module.graph.nodes if node.op.startswith("call")]
        names = [node.name for node in calls if node.target is not hand_over]
        assert [point.node for point in timeline.memory] == names
        assert all(span.duration_ms > 0 for span in timeline.spans)
    assert all(torch.equal(one, other) for one, other in zip(before, flat, strict=True))


def test_it_is_shown_and_exported_in_every_form(step, tmp_path):
    joint, _, _ = step
    timeline = hv.timeline(joint, hardware="a100")
    picture = hv.show(timeline)
    assert repr(picture) == str(timeline)
    assert set(picture._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!doctype html>", "json": b"{", "trace.json": b'{"traceEvents"'}
    for suffix, begin in begins.items():
        for what in (timeline, [timeline, timeline]):
            assert hv.export(what, tmp_path / f"t.{suffix}").read_bytes().startswith(begin), suffix
    assert from_json(hv.export(timeline, tmp_path / "one.json").read_bytes()) == timeline
    assert len(json.loads((tmp_path / "t.trace.json").read_text())["traceEvents"]) > 20
    with pytest.raises(ValueError, match="only a graph has a .dot form"):
        hv.export(timeline, tmp_path / "t.dot")
    with pytest.raises(ValueError, match="only a timeline has a .trace.json form, got Plan"):
        hv.export(joint, tmp_path / "p.trace.json")


def test_wishes_that_cannot_be_met_are_refused_in_one_sentence(step, sharded):
    joint, flat, compiled = step
    cases = [
        ({}, "give either hardware= to estimate .* or flat= to measure on this machine, got neither"),
        ({"hardware": "h100", "flat": flat}, "got both"),
        ({"hardware": "h10"}, "hardware must be one of h100, h200, a100, mi300x, cpu, .*, got 'h10'; did you mean 'h100'?"),
        ({"hardware": "h100", "config": "runs"}, "config must be a PassConfig, got str"),
        ({"hardware": "h100", "link": "fast"}, "link must be a Link, .*, got 'fast'"),
        ({"flat": flat, "link": hv.Link()}, "link must be left out for a measurement"),
        ({"flat": flat, "config": REGIONAL}, "config must be left out"),
        ({"flat": flat[1:]}, f"flat must hold one value for each of the {len(flat)} inputs, got {len(flat) - 1}"),
        ({"flat": flat[0]}, "flat must be a list or tuple with one value per input, got Parameter"),
        ({"flat": flat, "rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"flat": [value.to("meta") for value in flat]}, "flat must be on the CPU to be timed node by node, got one on meta"),
    ]
    for options, words in cases:
        with pytest.raises(ValueError, match=words):
            hv.timeline(joint, **options)
    with pytest.raises(ValueError, match="config must be left out for a compiled graph"):
        hv.timeline(compiled, REGIONAL, hardware="h100")
    with pytest.raises(ValueError, match="fake world of 16 ranks: not run"):
        hv.timeline(sharded, flat=flat)
    with pytest.raises(ValueError, match="a plan holds no operators to time: give the graph"):
        hv.timeline(hv.plan(joint), hardware="h100")
    with pytest.raises(ValueError, match="joint must be what hv.trace returns"):
        hv.timeline(7, hardware="h100")
