"""What torch makes of tags alone, for comparison: the same regions, the same order, the same wrong answers."""

from __future__ import annotations

import operator
from importlib.util import find_spec

import pytest
import torch
from small_graphs import compiled, roles_in_order, traced
from torch._guards import TracingContext, tracing

import hyperviz as hv
from hyperviz.analysis import TAG, find_regions
from hyperviz.graph import copy_graph_module, fake_mode_of

pytestmark = pytest.mark.skipif(find_spec("torch.fx.passes.regional_inductor") is None, reason="this torch does not merge by tags")
MERGED = {"region_strategy": "merged"}


def write_between(x):
    a = torch.relu(x) * 2
    x.add_(10)
    return a, torch.relu(x) * 3


def two_gathers(x, w, v):
    """C04: a gather, waited for late, and another launched early."""
    gather = torch.ops._c10d_functional.all_gather_into_tensor
    first = torch.ops._c10d_functional.wait_tensor(gather(w, 2, "0"))
    second = gather(v, 2, "0")
    x = torch.relu(x @ first)
    return torch.relu(x @ torch.ops._c10d_functional.wait_tensor(second))


def torch_alone(graph_module, inputs):
    """``regional_inductor`` itself on the same tags: its result, and what it runs in order."""
    from torch.fx.passes.regional_inductor import regional_inductor

    mine = copy_graph_module(graph_module)
    for group in find_regions(mine.graph, mode="regional").groups:
        for node in group:
            node.meta["custom"] = {TAG: {"inductor_configs": {}}}
    with tracing(TracingContext(fake_mode_of(mine))):
        mine = regional_inductor(mine)
    calls = [node for node in mine.graph.nodes if node.op == "call_function" and node.target is not operator.getitem]
    names = ["region" if not hasattr(node.target, "overloads") and "inner" in node.name else str(node.target) for node in calls]
    return mine(list(inputs)) if inputs else None, names


def names_of(run):
    return ["region" if name.startswith("region_") else name for name in roles_in_order(run)]


def test_an_eager_write_changes_sides_as_it_does_in_torch_and_the_plan_says_so():
    """C01."""
    x = torch.arange(4.0)
    graph = traced(write_between, x.clone())
    run = compiled(graph, **MERGED)
    theirs, order = torch_alone(graph, [x.clone()])
    mine = run(x.clone())
    assert names_of(run) == order == ["aten.add_.Tensor", "region"]
    assert [value.tolist() for value in mine] == [value.tolist() for value in theirs]
    assert run.plan.notes == ("add_ runs before relu, though they share memory that add_ writes",)
    equality = hv.compare(graph, run, [x])
    assert equality.verdict == "wrong"
    assert hv.compare(graph, compiled(graph), [x]).verdict in ("bitwise", "rounding")


def test_all_gathers_and_waits_come_first_as_they_do_in_torch():
    """C04."""
    graph = traced(two_gathers, torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, 4))
    run = compiled(graph, **MERGED)
    gather, wait = "_c10d_functional.all_gather_into_tensor.default", "_c10d_functional.wait_tensor.default"
    assert names_of(run) == torch_alone(graph, [])[1] == [gather, wait, gather, wait, "region"]
    assert names_of(compiled(graph)) == [gather, wait, gather, "region", wait, "region"]


def test_a_free_stays_behind_the_last_reader_where_torch_would_read_freed_memory():
    """C06."""

    def program(x, y):
        gathered = torch.empty_like(x)
        gathered.copy_(x)
        last = torch.relu(gathered) * 2
        torch.ops.inductor.resize_storage_bytes_(gathered, 0)
        return last, torch.relu(y) + 1

    graph = traced(program, torch.ones(8), torch.ones(8))
    run = compiled(graph, **MERGED)
    order = roles_in_order(run)
    assert order.index("region_0") < order.index("inductor.resize_storage_bytes_.default")
    assert any("1 free moved behind the last reader" in note for note in run.plan.notes)
    assert [value.tolist() for value in run(torch.ones(8), torch.ones(8))] == [[2.0] * 8, [2.0] * 8]


def test_a_plan_of_it_leaves_the_graph_as_it_was_and_off_and_full_do_not_merge():
    graph = traced(write_between, torch.ones(4))
    code, metas = graph.code, [dict(node.meta) for node in graph.graph.nodes]
    for mode, regions in (("regional", 1), ("off", 0), ("full", 1)):
        assert len(hv.plan(graph, hv.PassConfig(inductor_mode=mode, **MERGED)).regions) == regions
    assert graph.code == code and [dict(node.meta) for node in graph.graph.nodes] == metas
