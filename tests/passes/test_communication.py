"""Communication keeps its place: on a real gloo process group of one rank, and on graphs of a larger world."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from small_graphs import compiled, roles_in_order, traced
from torch.fx.experimental.proxy_tensor import make_fx

from hyperviz.analysis import find_regions

GATHER, SCATTER, WAIT = (f"_c10d_functional.{name}.default" for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "wait_tensor"))


@pytest.fixture(scope="module")
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD.group_name
    dist.destroy_process_group()


def _prefetched(group):
    c10d = torch.ops._c10d_functional

    def program(x, w1, w2):
        first = c10d.wait_tensor(c10d.all_gather_into_tensor(w1, 1, group))
        second = c10d.all_gather_into_tensor(w2, 1, group)
        y = torch.relu(x @ first) + 1
        second = c10d.wait_tensor(second)
        z = torch.sin(y @ second) * 2
        reduced = c10d.reduce_scatter_tensor(z, "sum", 1, group)
        total = (z * 3).sum()
        return total, c10d.wait_tensor(reduced)

    return program


def test_regional_leaves_compute_inside_its_windows(group):
    """C04: a second gather and a reduce-scatter launched early."""
    inputs = [torch.randn(4, 4) for _ in range(3)]
    graph = traced(_prefetched(group), *inputs)
    run = compiled(graph)
    assert roles_in_order(run) == [GATHER, WAIT, GATHER, "region_0", WAIT, "region_1", SCATTER, "region_2", WAIT]
    torch.testing.assert_close(run(*inputs), graph(*inputs))
    assert run.plan.roles["all_gather_into_tensor"] == "collective" and run.plan.roles["wait_tensor"] == "wait"
    assert "launches communication" in run.plan.eager["all_gather_into_tensor"]


def test_full_compiles_collectives_too(group):
    inputs = [torch.randn(4, 4) for _ in range(3)]
    graph = traced(_prefetched(group), *inputs)
    run = compiled(graph, "full")
    assert roles_in_order(run) == ["region_0"] and not run.plan.eager
    torch.testing.assert_close(run(*inputs), graph(*inputs))


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_a_group_object_in_the_graph_is_shared_and_the_baseline_still_runs(group, mode):
    """C23."""

    def program(x):
        y = torch.relu(x) + 1
        dist.all_reduce(y)
        return y * 2

    graph = make_fx(program, tracing_mode="real")(torch.ones(3))
    run = compiled(graph, mode)
    assert run(torch.ones(3)).tolist() == [4, 4, 4]
    assert graph(torch.ones(3)).tolist() == [4, 4, 4]


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_sends_and_receives_stay_outside_in_their_order(mode):
    """C05, and line 17."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.ops.aten.relu.default, (x,))
    c10d = torch.ops._c10d_functional
    sent = graph.call_function(c10d.isend.default, (y, 1, 0, "0"))
    got = graph.call_function(c10d.irecv.default, (x, 1, 0, "0"))
    done = graph.call_function(c10d.wait_tensor.default, (got,))
    z = graph.call_function(torch.ops.aten.mul.Tensor, (done, y))
    graph.output((z, sent))
    found = find_regions(graph, mode=mode)
    assert {sent, got} <= set(found.reasons)
    assert [node for node in found.order if node.op == "call_function"] == [y, sent, got, done, z]
    assert "ranks hang" in found.reasons[sent]
