"""After a compile, the order of the compiled graph is compared with the plan, and a difference is an error."""

from __future__ import annotations

import dataclasses
import operator

import pytest
import torch
from small_graphs import compiled, traced

import hyperviz as hv
from hyperviz.passes.proof import OrderError, check_order
from hyperviz.snapshot import steps_of, windows_of

c10d = torch.ops._c10d_functional


def overlapped(x, w, v):
    """A gather that is waited for before, and one in flight over, the first matmul; a reduction in flight over the second."""
    first = c10d.wait_tensor(c10d.all_gather_into_tensor(w, 2, "0"))
    second = c10d.all_gather_into_tensor(v, 2, "0")
    x = torch.relu(x @ first)
    ready = c10d.wait_tensor(second)
    reduced = c10d.reduce_scatter_tensor(x, "sum", 2, "0")
    y = torch.relu(x @ ready)
    return y, c10d.wait_tensor(reduced)


@pytest.fixture(scope="module")
def graph():
    return traced(overlapped, torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, 4))


@pytest.fixture(scope="module")
def runs(graph):
    return compiled(graph)


def test_runs_keep_every_window_and_the_report_says_so(runs):
    order = runs.report.order
    assert (order.num_fixed, order.num_compute, order.num_windows, order.num_kept, order.lost) == (6, 4, 2, 2, ())
    assert str(order) == "order as planned: 6 eager calls against 4 compute nodes; windows kept: 2 of 2"
    assert runs.plan.order == ()


def test_tags_alone_lose_them_and_the_plan_knows_before_anything_is_compiled(graph):
    plan = hv.plan(graph, hv.PassConfig(inductor_mode="regional", region_strategy="merged"))
    lost = {window.launch: str(window) for window in windows_of(plan) if window.inside and not window.is_kept}
    assert lost == {"all_gather_into_tensor_1": "2 of 2 compute nodes lost", "reduce_scatter_tensor": "2 of 2 compute nodes lost"}
    order = compiled(graph, region_strategy="merged").report.order
    assert order.num_windows == 2 and order.num_kept == 0
    assert order.lost == ("all_gather_into_tensor_1: 2 of 2 compute nodes lost", "reduce_scatter_tensor: 2 of 2 compute nodes lost")
    assert plan.order and [name for step in steps_of(plan) for name in step][-1] == "wait_tensor_2"


def test_in_full_mode_communication_is_inside_the_region_and_nobody_claims_a_window(graph):
    windows = windows_of(hv.plan(graph, hv.PassConfig(inductor_mode="full")))
    assert [str(window) for window in windows] == ["inside region_0: Inductor orders it"] * 3
    assert not any(window.is_kept for window in windows)


@pytest.mark.parametrize(
    ("node", "ahead_of", "sentence"),
    [
        ("wait_tensor_1", "region_0", "must run the planned compute before wait_tensor_1, but misses mm, relu there"),
        ("reduce_scatter_tensor", "wait_tensor_1", "must run wait_tensor_1 next, as planned, got reduce_scatter_tensor"),
        ("wait_tensor_2", "region_1", "must run the planned compute before wait_tensor_2, but misses mm_1, relu_1 there"),
    ],
)
def test_a_graph_that_differs_is_an_error_that_names_the_first_node(runs, node, ahead_of, sentence):
    moved = _moved(runs.graph_module.graph, node, ahead_of)
    with pytest.raises(OrderError, match=sentence):
        check_order(runs.plan, moved)


def test_a_graph_that_lacks_an_effect_is_an_error(runs, graph):
    shorter = traced(lambda x, w, v: overlapped(x, w, v)[0], torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, 4))
    eager = dataclasses.replace(hv.plan(graph), mode="off")
    assert check_order(eager, graph.graph).num_kept == 2
    for node in reversed(shorter.graph.nodes):
        if node.op == "call_function" and not node.users:
            shorter.graph.erase_node(node)
    with pytest.raises(OrderError, match="must run reduce_scatter_tensor next, as planned, got its end"):
        check_order(eager, shorter.graph)


def _moved(graph, name, ahead_of):
    """The same calls with one moved; its arguments are not looked at."""
    import torch.fx

    twin, places = torch.fx.Graph(), {}
    by_name = {node.name: node for node in graph.nodes}
    order = [node for node in graph.nodes if node.name != name and node.target is not operator.getitem]
    order.insert(order.index(by_name[ahead_of]), by_name[name])
    for node in order:
        places[node] = twin.create_node(node.op, node.target, (), {}, name=node.name) if node.op != "output" else twin.output(None)
        places[node].meta.update(node.meta)
    return twin


def test_a_result_that_is_taken_out_behind_an_effect_does_not_move_its_region():
    """The order of a plan is that of work: where a ``getitem`` stands says nothing."""

    def program(x, y):
        several = torch.ops.aten.native_layer_norm(x, [8], None, None, 1e-5)
        z = torch.relu(x) * 2
        torch.ops.inductor.resize_storage_bytes_(y, 0)
        return z, several

    graph = traced(program, torch.ones(4, 8), torch.ones(4))
    free = next(node for node in graph.graph.nodes if "resize" in node.name)
    for node in [node for node in graph.graph.nodes if node.target is operator.getitem]:
        graph.graph.output_node().prepend(node)
    graph.recompile()
    plan = compiled(graph).plan
    names = [name for step in steps_of(plan) for name in step]
    assert names.index("native_layer_norm") < names.index(free.name) and sorted(names) == sorted({*plan.region_of(), *plan.eager})
