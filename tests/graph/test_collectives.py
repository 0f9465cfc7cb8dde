"""Launches and waits are paired, whatever form they take, and each says what it carries and over which ranks."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import hyperviz as hv
from hyperviz.graph import take_snapshot
from hyperviz.graph.collectives import find_collectives
from hyperviz.models import GPT, GPTConfig

c10d, aten = torch.ops._c10d_functional, torch.ops.aten


class Builder:
    """A graph of real operators with fake values, built call by call."""

    def __init__(self, **options):
        self.graph, self.mode = fx.Graph(), FakeTensorMode(**options)

    def input(self, name, *shape):
        node = self.graph.placeholder(name)
        with self.mode:
            node.meta["val"] = torch.empty(shape)
        return node

    def call(self, target, *args, **kwargs):
        node = self.graph.call_function(target, args, kwargs)
        values = fx.node.map_arg((args, kwargs), lambda argument: argument.meta["val"])
        with self.mode:
            node.meta["val"] = target(*values[0], **values[1])
        return node

    def facts(self, **options):
        return find_collectives(self.graph, **options)


def test_a_functional_collective_and_its_window():
    b = Builder()
    x, y = b.input("x", 4), b.input("y", 8, 8)
    launch = b.call(c10d.all_gather_into_tensor.default, x, 2, "g")
    product = b.call(aten.mm.default, y, y)
    b.call(aten.t.default, product)
    b.call(aten.empty.memory_format, [3])
    wait = b.call(c10d.wait_tensor.default, launch)
    b.call(aten.relu.default, wait)
    (found,) = b.facts()
    assert (found.launch, found.waits, found.kind, found.group) == (launch.name, (wait.name,), "all_gather", "g")
    assert (found.num_ranks, found.payload_bytes, found.bucket, found.compute_inside) == (2, 32, "", (product.name,))


def test_a_buffer_that_is_gathered_into_and_waited_for_through_views():
    b = Builder()
    x = b.input("x", 4)
    buffer = b.call(aten.empty.memory_format, [8])
    launch = b.call(c10d.all_gather_into_tensor_out.default, x, 2, "g", out=buffer)
    launch.meta["bucket"] = "blocks.0"
    view = b.call(aten.view.default, buffer, [2, 4])
    wait = b.call(c10d.wait_tensor.default, view)
    (found,) = b.facts()
    assert (found.launch, found.waits, found.payload_bytes, found.bucket) == (launch.name, (wait.name,), 32, "blocks.0")


def test_a_coalesced_collective_has_a_wait_for_each_result():
    b = Builder()
    x, y = b.input("x", 4), b.input("y", 6)
    launch = b.call(c10d.reduce_scatter_tensor_coalesced.default, [x, y], "sum", 2, "g")
    parts = [b.call(operator.getitem, launch, index) for index in range(2)]
    waits = [b.call(c10d.wait_tensor.default, part) for part in parts]
    (found,) = b.facts()
    assert (found.kind, found.waits, found.payload_bytes) == ("reduce_scatter", tuple(wait.name for wait in waits), 40)


def test_a_result_waited_for_twice_and_one_that_never_is():
    b = Builder()
    x = b.input("x", 4)
    first = b.call(c10d.all_reduce.default, x, "sum", "g")
    waits = [b.call(c10d.wait_tensor.default, first)]
    waits.append(b.call(c10d.wait_tensor.default, waits[0]))
    b.call(c10d.all_reduce.default, x, "sum", "g")
    after = b.call(aten.relu.default, x)
    twice, never = b.facts()
    assert twice.waits == tuple(wait.name for wait in waits) and twice.compute_inside == ()
    assert never.waits == () and never.compute_inside == (after.name,)


def test_a_wait_belongs_to_the_last_launch_into_its_memory():
    b = Builder()
    x = b.input("x", 4)
    b.call(c10d.all_reduce_.default, x, "sum", "g")
    first = b.call(c10d.wait_tensor.default, x)
    b.call(c10d.all_reduce_.default, x, "sum", "g")
    second = b.call(c10d.wait_tensor.default, x)
    assert [found.waits for found in b.facts()] == [(first.name,), (second.name,)]


@pytest.mark.parametrize(
    ("sizes", "expected"), [(None, [None]), ({"gone": 8}, [8])], ids=["a group that no longer exists", "told from outside"]
)
def test_ranks_of_a_group_that_is_not_up(sizes, expected):
    b = Builder()
    b.call(c10d.all_reduce.default, b.input("x", 4), "sum", "gone")
    assert [found.num_ranks for found in b.facts(group_sizes=sizes)] == expected


def test_ranks_are_known_from_another_launch_on_the_same_group():
    b = Builder()
    x = b.input("x", 8)
    b.call(c10d.all_reduce.default, x, "sum", "gone")
    b.call(c10d.reduce_scatter_tensor.default, x, "sum", 4, "gone")
    b.call(c10d.all_to_all_single.default, x, [4, 4], [4, 4], "other")
    assert [(found.kind, found.num_ranks) for found in b.facts()] == [("all_reduce", 4), ("reduce_scatter", 4), ("all_to_all", 2)]


def test_without_values_and_without_hints_the_payload_is_unknown():
    graph = fx.Graph()
    graph.call_function(c10d.all_reduce.default, (graph.placeholder("x"), "sum", "g"))
    assert find_collectives(graph)[0].payload_bytes is None
    b = Builder(shape_env=ShapeEnv())
    size = b.mode.shape_env.create_unbacked_symint()
    x = b.graph.placeholder("x")
    with b.mode:
        x.meta["val"] = torch.empty(size)
    b.call(c10d.all_reduce.default, x, "sum", "g")
    assert b.facts()[0].payload_bytes is None


def test_a_symbolic_size_counts_by_its_hint():
    def step(x):
        return c10d.wait_tensor.default(c10d.all_reduce.default(x, "sum", "g"))

    graph_module = fx.experimental.proxy_tensor.make_fx(step, tracing_mode="symbolic")(torch.ones(6, 5))
    assert [found.payload_bytes for found in take_snapshot(graph_module).collectives] == [120]


def test_the_snapshot_of_a_sharded_step_holds_every_collective():
    model, tokens = GPT(GPTConfig(num_layers=1, num_heads=2, width=16, context=8)), torch.zeros(2, 8, dtype=torch.int64)
    joint = hv.trace(model, lambda model, x: model(x).square().mean(), {"x": tokens}, world=hv.FakeWorld(8))
    plan = hv.plan(joint, hv.PassConfig(fsdp_enabled=True))
    nodes, found = plan.graph.by_name(), plan.graph.collectives
    assert [one.launch for one in found] == [name for name, role in plan.roles.items() if role == "collective"]
    assert all(len(one.waits) == 1 and one.num_ranks == 8 for one in found)
    assert sorted(wait for one in found for wait in one.waits) == sorted(name for name, role in plan.roles.items() if role == "wait")
    for one in found:
        carrier = one.launch if one.kind == "all_gather" else nodes[one.launch].inputs[0]
        assert one.payload_bytes == nodes[carrier].num_bytes
