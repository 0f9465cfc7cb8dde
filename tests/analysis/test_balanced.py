"""Balanced regions: every order holds, every limit is kept, and nothing that trying everything finds is much better."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

import hyperviz as hv
from hyperviz.analysis import Limits, find_regions, hardware_named
from hyperviz.analysis.balanced import Judged, rejoin
from hyperviz.analysis.joins import join_runs
from hyperviz.snapshot import windows_of

c10d, aten = torch.ops._c10d_functional, torch.ops.aten


class Builder:
    """A graph with collectives, written by hand; its tensors are large enough for communication to matter."""

    def __init__(self, rows=512):
        self.mode, self.graph, self.rows = FakeTensorMode(), fx.Graph(), rows

    def placeholder(self, name, rows=None):
        node = self.graph.placeholder(name)
        node.meta["val"] = self.mode.from_tensor(torch.empty(rows or self.rows, 512))
        return node

    def call(self, target, *args, **kwargs):
        node = self.graph.call_function(target, args, kwargs)
        with self.mode:
            node.meta["val"] = target(*fx.map_arg(args, lambda one: one.meta["val"]), **kwargs)
        return node

    def free(self, node):
        self.graph.call_function(torch.ops.inductor.resize_storage_bytes_.default, (node, 0))

    def gather(self, shard):
        return self.call(c10d.all_gather_into_tensor.default, shard, 8, "g")

    def done(self, *outputs):
        self.graph.output(outputs)
        return fx.GraphModule({}, self.graph)


def layers(num_layers, ahead=1, frees=True):
    """A chain of layers whose weights are gathered ahead of use, and freed behind it."""
    make = Builder()
    x = make.placeholder("x")
    shards = [make.placeholder(f"shard{index}", 64) for index in range(num_layers)]
    flying = [make.gather(shard) for shard in shards[:ahead]]
    for index in range(num_layers):
        if index + ahead < num_layers:
            flying.append(make.gather(shards[index + ahead]))
        weight = make.call(c10d.wait_tensor.default, flying[index])
        for _ in range(8):
            x = make.call(aten.mm.default, x, weight)
            x = make.call(aten.relu.default, x)
        if frees:
            make.free(weight)
    return make.done(x)


def tangle(seed, num_runs=8):
    """A graph of chance: gathers and reductions launched and waited for anywhere that data allows."""
    chance, make = random.Random(seed), Builder()
    values = [make.placeholder("x")]
    shards = [make.placeholder(f"shard{index}", 64) for index in range(num_runs)]
    flying = []
    for _ in range(num_runs):
        for _ in range(chance.randint(1, 5)):
            values.append(make.call(aten.relu.default, make.call(aten.mm.default, chance.choice(values[-3:]), chance.choice(values))))
        what = chance.random()
        if what < 0.45 and shards:
            flying.append(make.gather(shards.pop()))
        elif what < 0.6:
            flying.append(make.call(c10d.all_reduce.default, values[-1], "sum", "g"))
        if flying and (chance.random() < 0.6 or what >= 0.6):
            values.append(make.call(c10d.wait_tensor.default, flying.pop(chance.randrange(len(flying)))))
    values += [make.call(c10d.wait_tensor.default, one) for one in flying]
    return make.done(*values[-4:])


def judge(regions, graph_module):
    return Judged.of(regions, graph_module, hardware_named("h100"))


def within(before, after, limits):
    """Whether regions keep the limits, judged anew."""
    was = {one.launch: one for one in before.timeline.collectives}
    for one in after.timeline.collectives:
        if was[one.launch].hidden_ms - one.hidden_ms > limits.hidden * one.duration_ms + 1e-6:
            return False
    return after.peak_bytes <= before.peak_bytes * (1 + limits.peak)


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
        best = _best(graph_module, limits)
        regions.append((len(found.groups), best))
        assert len(found.groups) >= best, "better than the best: a limit was broken"
        missed += len(found.groups) - best
    assert sum(best for _, best in regions) < sum(len(find_regions(tangle(seed).graph, mode="regional").groups) for seed in range(12))
    assert missed <= 0.15 * sum(best for _, best in regions), regions


def _best(graph_module, limits):
    """The fewest regions of all compositions of the runs that keep order and limits."""
    runs = find_regions(graph_module.graph, mode="regional")
    before = judge(runs, graph_module)
    units = before.units()
    starts = [number for number, unit in enumerate(units) if unit.is_run][1:]
    for count in range(len(starts) + 1):
        for apart in combinations(starts, count):
            joins = join_runs(units, [], 0.0, float("inf"), frozenset(apart))
            if len(joins) == count + 1 and within(before, before.joined(joins, units), limits):
                return count + 1
    raise AssertionError("runs themselves keep every limit")
