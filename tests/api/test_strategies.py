"""What each strategy costs is counted on its plan, and what cannot be asked says why."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import fx

import hyperviz as hv
from hyperviz.api.session import Session
from hyperviz.api.strategies import MOST_NODES_MERGED, strategy_cost
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch
from hyperviz.snapshot import STRATEGIES, windows_of
from hyperviz.widgets import Knobs

SHARDED = hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*", "*"), inductor_mode="regional")


@pytest.fixture(scope="module")
def sharded():
    model = GPT(GPTConfig(num_layers=2, width=32, num_heads=2))
    inputs = sample_batch(load_text(), batch_size=2, length=16, generator=torch.Generator().manual_seed(0))
    return hv.apply_passes(hv.trace(model, gpt_step, inputs, world=hv.FakeWorld(size=8)), SHARDED)


@pytest.fixture(scope="module")
def costs(sharded):
    return hv.strategies(sharded, SHARDED)


def test_every_strategy_is_counted_as_its_plan_has_it(sharded, costs):
    assert [cost.strategy for cost in costs] == list(STRATEGIES)
    for name in ("runs", "balanced"):
        plan = hv.plan(sharded, SHARDED.replace(region_strategy=name))
        windows = [window for window in windows_of(plan) if window.inside]
        assert costs[name].num_regions == len(plan.regions)
        assert (costs[name].num_kept, costs[name].num_windows) == (sum(one.is_kept for one in windows), len(windows))


def test_layers_that_are_equal_count_once(costs):
    assert 0 < costs["runs"].num_distinct < costs["runs"].num_regions
    assert costs["balanced"].num_regions < costs["runs"].num_regions
    assert costs["annotated"].note == "nothing is annotated"


def test_times_are_those_of_the_timeline(sharded, costs):
    timeline = hv.timeline(sharded, SHARDED, hardware="h100")
    assert costs["runs"].exposed_ms == timeline.exposed_ms
    assert costs["runs"].step_ms == timeline.total_ms
    assert costs["runs"].peak_bytes == timeline.peak_bytes


def test_the_text_is_an_aligned_table(costs):
    lines = str(costs).splitlines()
    assert lines[0].startswith("strategy ")
    assert lines[0].index("distinct") == lines[1].index(str(costs["runs"].num_distinct), 10)
    assert "estimated for H100 SXM 80 GB; nothing was compiled" in lines
    assert str(costs["runs"]).startswith(f"{costs['runs'].num_regions} regions, {costs['runs'].num_distinct} distinct, ")


def test_a_large_graph_is_not_handed_to_what_takes_minutes():
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(MOST_NODES_MERGED):
        x = graph.call_function(torch.ops.aten.relu.default, (x,))
    graph.output(x)
    cost = strategy_cost(fx.GraphModule({}, graph), None, "merged")
    assert cost.num_regions is None
    assert str(cost) == "not asked: torch's own grouping takes minutes beyond 3,000 nodes"


def test_without_fake_values_what_cannot_be_known_is_unknown():
    graph = fx.Graph()
    graph.output(graph.call_function(torch.ops.aten.relu.default, (graph.placeholder("x"),)))
    cost = strategy_cost(fx.GraphModule({}, graph), None, "runs")
    assert (cost.num_regions, cost.num_distinct, cost.step_ms, cost.peak_bytes) == (1, None, None, None)
    assert str(cost) == "1 region, ? distinct, peak unknown"


def test_bad_input_is_refused_in_a_sentence(sharded):
    with pytest.raises(ValueError, match="config must be a PassConfig, got dict"):
        hv.strategies(sharded, {})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="joint must be what hv.trace returns"):
        hv.strategies(Path(), SHARDED)  # pyright: ignore[reportArgumentType]


def test_the_explorer_is_told_the_same(sharded, costs):
    session, knobs = Session(sharded, None, SHARDED), Knobs("regional", "balanced")
    assert session.strategy_cost(knobs, "runs") == costs["runs"]
    assert session.costs_label == costs.label
    assert session.hardware()[:2] == ("h100", "h200") and session.hardware()[-1] == "cpu"
    eager, planned = session.timelines(knobs, "a100").timelines
    assert (eager.title, planned.title) == ("The graph, eager", "The plan, regional · balanced")
    assert eager.label == planned.label == "estimated for A100 SXM 80 GB"
    assert (planned.compute_ms or 0) < (eager.compute_ms or 0)
    assert len(session.timelines(Knobs(), "h100").timelines) == 1
    apart = session.why_apart(knobs, "region_0", "region_1")
    assert apart == hv.why_apart(sharded, SHARDED.replace(region_strategy="balanced"), "region_0", "region_1")
    assert apart.sentence.startswith(("No:", "No order", "Nothing"))
