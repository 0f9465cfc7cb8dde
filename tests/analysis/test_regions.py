"""Regions of hand-made graphs: order, effects that may move, and the numbers of a plan."""

from __future__ import annotations

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from hyperviz.analysis import find_regions, make_plan, with_getitems_beside_producers
from hyperviz.graph import take_snapshot

free = torch.ops.inductor.resize_storage_bytes_


def _traced(function, *inputs):
    return make_fx(function, tracing_mode="fake")(*inputs)


def _order(found):
    return [node.name for node in found.order if node.op == "call_function"]


def test_a_free_moves_behind_the_compute_in_full_so_that_one_region_holds_it():
    def program(x, y):
        gathered = torch.relu(x)
        last = gathered * 2
        free(gathered, 0)
        return last, torch.sin(y) + 1

    graph = _traced(program, torch.ones(4), torch.ones(4)).graph
    regional = find_regions(graph, mode="regional")
    assert _order(regional) == ["relu", "mul", "resize_storage_bytes_", "sin", "add"]
    assert len(regional.groups) == 2
    full = find_regions(graph, mode="full")
    assert _order(full) == ["relu", "mul", "sin", "add", "resize_storage_bytes_"]
    assert len(full.groups) == 1
    assert full.notes == ["1 effect moved behind the compute that followed (resize_storage_bytes_)"]


def test_a_free_stays_where_later_compute_touches_the_same_memory():
    def program(x, y):
        last = torch.relu(x) * 2
        free(x, 0)
        free(x, 16)
        x.copy_(y)
        return last, torch.sin(x)

    graph = _traced(program, torch.ones(4), torch.ones(4)).graph
    full = find_regions(graph, mode="full")
    assert _order(full) == ["relu", "mul", "resize_storage_bytes_", "resize_storage_bytes__1", "copy_", "sin"]
    assert [[node.name for node in group] for group in full.groups] == [["relu", "mul"], ["copy_", "sin"]]
    assert full.notes == ["2 regions, not one: effects that nothing may be moved across stand between them"]


def test_effects_keep_their_order_when_one_of_them_cannot_move():
    def program(x, y):
        a = torch.relu(y)
        free(y, 0)
        b = torch.sin(x)
        free(x, 0)
        c = torch.cos(x)
        return a, b, c

    full = find_regions(_traced(program, torch.ones(4), torch.ones(4)).graph, mode="full")
    assert _order(full) == ["relu", "resize_storage_bytes_", "sin", "resize_storage_bytes__1", "cos"]


def test_getitems_move_beside_their_producer_and_nothing_else_moves():
    def program(x):
        values, indices = torch.topk(x, 2)
        return torch.relu(values), indices

    graph = _traced(program, torch.randn(4)).graph
    second = next(node for node in graph.nodes if node.name == "getitem_1")
    graph.output_node().prepend(second)
    assert [node.name for node in graph.nodes][-2] == "getitem_1"
    assert [node.name for node in with_getitems_beside_producers(graph)] == ["x_1", "topk", "getitem", "getitem_1", "relu", "output"]


def test_a_plan_has_the_numbers_of_its_regions():
    def program(x, w):
        return torch.relu(x @ w) @ w

    graph_module = _traced(program, torch.ones(8, 4), torch.ones(4, 4))
    plan = make_plan(graph_module, take_snapshot(graph_module), mode="regional", settings={"max_autotune": True})
    (region,) = plan.regions
    assert region.flops == 2 * (2 * 8 * 4 * 4)
    assert region.bytes_in == (8 * 4 + 4 * 4) * 4 and region.bytes_out == 8 * 4 * 4
    assert region.settings == {"max_autotune": True} and region.number == 0
    assert set(plan.roles) == {node.name for node in graph_module.graph.nodes}


def test_numbers_that_are_not_known_are_none():
    graph_module = _traced(lambda x, w: torch.relu(x @ w), torch.ones(8, 4), torch.ones(4, 4))
    for node in graph_module.graph.nodes:
        node.meta.pop("val", None)
    (region,) = make_plan(graph_module, take_snapshot(graph_module), mode="regional").regions
    assert region.flops is None and region.bytes_in is None and region.bytes_out is None


def test_off_has_no_regions_and_a_reason_for_every_call():
    graph = _traced(lambda x: torch.relu(x) + 1, torch.ones(2)).graph
    found = find_regions(graph, mode="off")
    assert not found.groups and set(found.reasons.values()) == {"off: nothing is compiled"} and len(found.reasons) == 2


def test_constants_between_two_nodes_break_no_run():
    def program(x):
        y = torch.relu(x)
        return y + torch.tensor([1.0, 2.0])

    graph = _traced(program, torch.ones(2)).graph
    assert any(node.op == "get_attr" for node in graph.nodes)
    assert len(find_regions(graph, mode="regional").groups) == 1
