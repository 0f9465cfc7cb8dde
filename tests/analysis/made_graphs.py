"""Graphs with collectives, made by hand or by chance, and the fewest regions that trying everything finds in them."""

from __future__ import annotations

import random
from itertools import combinations

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from hyperviz.analysis import find_regions, hardware_named
from hyperviz.analysis.balanced import Judged
from hyperviz.analysis.joins import join_runs

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


def fewest_regions(graph_module, limits):
    """The fewest regions of all compositions of the runs that keep order and limits."""
    runs = find_regions(graph_module.graph, mode="regional")
    before = judge(runs, graph_module)
    units = before.units()
    starts = [number for number, unit in enumerate(units) if unit.is_run][1:]
    for count in range(len(starts) + 1):
        for apart in combinations(starts, count):
            joins = join_runs(units, [], 0.0, frozenset(apart))
            if len(joins) == count + 1 and within(before, before.joined(joins, units), limits):
                return count + 1
    raise AssertionError("runs themselves keep every limit")
