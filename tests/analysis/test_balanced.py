"""Balanced regions: every order holds, every limit is kept, and nothing that trying everything finds is much better."""

from __future__ import annotations

import math

import pytest
from made_graphs import Builder, aten, c10d, fewest_regions, judge, layers, tangle

import hyperviz as hv
from hyperviz.analysis import Limits, find_regions
from hyperviz.analysis.balanced import rejoin
from hyperviz.snapshot import windows_of


def all_orders_hold(before, order):
    place = {node: index for index, node in enumerate(order)}
    return all(place[other] < place[node] for node in order for other in before.hazards.predecessors(node) if other in place)


@pytest.mark.parametrize("limits", [Limits(), Limits(hidden=0.2), Limits(peak=1.0), Limits(hidden=1.0, peak=10.0)], ids=str)
@pytest.mark.parametrize("build", [lambda: layers(6), lambda: layers(6, ahead=2), lambda: tangle(3, 12), lambda: tangle(4, 12)])
def test_orders_hold_and_limits_are_kept(build, limits):
    graph_module = build()
    runs = find_regions(graph_module.graph, mode="regional")
    balanced = find_regions(graph_module.graph, mode="regional", strategy="balanced", limits=limits)
    before = judge(runs, graph_module)
    assert sorted(node.name for node in balanced.order) == sorted(node.name for node in runs.order)
    assert all_orders_hold(before, balanced.order)
    joined = rejoin(runs, graph_module, limits)
    assert len(balanced.groups) <= len(joined.groups)
    assert judge(joined, graph_module).peak_bytes <= before.peak_bytes * (1 + limits.peak)
    compiled = {node for group in balanced.groups for node in group}
    assert set(balanced.reasons) == {node for node in balanced.placements if node not in compiled and node.op == "call_function"}


def test_a_chain_of_layers_joins_where_frees_alone_stood_between():
    """With nothing but frees between, and room for what they would have freed, one region is enough."""
    make = Builder()
    x = make.placeholder("x")
    for _ in range(4):
        y = make.call(aten.relu.default, make.call(aten.mm.default, x, x))
        x = make.call(aten.relu.default, make.call(aten.mm.default, y, y))
        make.free(y)
    graph = make.done(x)
    config = hv.PassConfig(inductor_mode="regional", region_strategy="balanced")
    assert len(hv.plan(graph, config.replace(region_strategy="runs")).regions) == 4
    assert len(hv.plan(graph, config.replace(balance_peak=10.0)).regions) == 1
    assert len(hv.plan(graph, config.replace(balance_peak=0.0)).regions) > 1


def test_no_window_loses_hidden_time_and_every_move_can_be_read():
    graph = layers(8, ahead=2)
    config = hv.PassConfig(inductor_mode="regional", region_strategy="balanced", balance_peak=1.0)
    plan, runs = hv.plan(graph, config), hv.plan(graph, config.replace(region_strategy="runs"))
    assert len(plan.regions) < len(runs.regions)
    strategies = [find_regions(graph.graph, mode="regional", strategy=one, limits=Limits(peak=1.0)) for one in ("runs", "balanced")]
    before, after = (judge(regions, graph).timeline for regions in strategies)
    assert after.total_ms <= before.total_ms
    moves = hv.moves_of(plan)
    assert moves and all(move.node in plan.roles for move in moves)
    assert hv.moves_of(runs) == ()
    assert all(str(move) for move in moves)
    assert [window.launch for window in windows_of(plan)] == [window.launch for window in windows_of(runs)]


def test_a_region_with_nothing_to_fuse_stays_eager_with_the_reason():
    make = Builder()
    x = make.placeholder("x")
    one = make.call(aten.relu.default, x)
    weight = make.call(c10d.wait_tensor.default, make.gather(one))
    view = make.call(aten.t.default, weight)
    other = make.call(c10d.wait_tensor.default, make.gather(view))
    two = make.call(aten.relu.default, make.call(aten.mm.default, other, other))
    graph = make.done(two)
    plan = hv.plan(graph, hv.PassConfig(inductor_mode="regional", region_strategy="balanced"))
    assert len(plan.regions) == 1
    assert plan.eager[one.name] == f"nothing to fuse: {one.name} is the only operator of its region"
    assert plan.eager[view.name] == "nothing to compile: its region holds views only"


def test_trying_everything_finds_little_that_is_better():
    """Every way to join runs, judged in full, against what is found from left to right."""
    missed, regions = 0, []
    for seed in range(12):
        graph_module, limits = tangle(seed), Limits(peak=0.2)
        found = rejoin(find_regions(graph_module.graph, mode="regional"), graph_module, limits)
        best = fewest_regions(graph_module, limits)
        regions.append((len(found.groups), best))
        assert len(found.groups) >= best, "better than the best: a limit was broken"
        missed += len(found.groups) - best
    assert sum(best for _, best in regions) < sum(len(find_regions(tangle(seed).graph, mode="regional").groups) for seed in range(12))
    assert missed <= 0.1 * sum(best for _, best in regions), regions


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"balance_hidden": -0.1}, "balance_hidden must be a share of at least 0, as in 0.1 for a tenth, got -0.1"),
        ({"balance_peak": math.nan}, "balance_peak must be a share of at least 0, .* got nan"),
        ({"balance_peak": True}, "balance_peak must be a share of at least 0, .* got True"),
        ({"hardware": "h1000"}, "hardware must be one of h100, .* got 'h1000'; did you mean 'h100'?"),
        ({"region_strategy": "balance"}, "got 'balance'; did you mean 'balanced'?"),
    ],
)
def test_limits_that_make_no_sense_are_refused_when_the_config_is_made(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        hv.PassConfig(**wrong)


def test_a_collective_that_is_never_waited_for_stays_where_it_is():
    make = Builder()
    x = make.placeholder("x")
    y = make.call(aten.relu.default, make.call(aten.mm.default, x, x))
    make.call(c10d.all_reduce.default, y, "sum", "g")
    graph = make.done(make.call(aten.relu.default, make.call(aten.mm.default, x, y)))
    config = hv.PassConfig(inductor_mode="regional", region_strategy="balanced", balance_hidden=1.0, balance_peak=10.0)
    assert len(hv.plan(graph, config).regions) == 2 and not hv.moves_of(hv.plan(graph, config))
