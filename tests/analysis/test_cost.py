"""Floating point operations by torch's formulas, and by those of its counterparts where torch has none."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

from hyperviz.analysis import estimate_timeline, hardware_named, schedule_of
from hyperviz.analysis.cost import flops, hinted_flops, node_flops


def graph_of(function, *inputs, **options):
    return make_fx(function, **{"tracing_mode": "fake", **options})(*inputs).graph


def test_a_graph_counts_what_torchs_counter_counts():
    def program(x, w):
        return torch.nn.functional.conv2d(x, w).relu().flatten(1) @ torch.ones(16, 3)

    inputs = torch.ones(2, 3, 4, 4), torch.ones(4, 3, 3, 3)
    with FlopCounterMode(display=False) as counter:
        program(*inputs)
    assert flops(graph_of(program, *inputs).nodes) == counter.get_total_flops() > 0


def test_attention_on_the_cpu_counts_as_its_two_products_do_and_two_and_a_half_times_that_backward():
    def program(q, k, v):
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return torch.autograd.grad(out.sum(), (q, k, v))

    inputs = [torch.ones(2, 3, 8, 16, requires_grad=True) for _ in range(3)]
    counts = [count for node in graph_of(program, *inputs).nodes if (count := node_flops(node))]
    forward = 2 * (2 * 2 * 3 * 8 * 16 * 8)
    assert counts == [forward, 2.5 * forward]


def test_a_symbolic_size_is_not_known_and_counts_by_its_hint():
    graph = graph_of(lambda x: x @ x, torch.ones(6, 6), tracing_mode="symbolic")
    (product,) = (node for node in graph.nodes if "mm" in node.name)
    assert node_flops(product) is None and hinted_flops(product) == 2 * 6**3


@pytest.mark.parametrize("count", [node_flops, hinted_flops])
def test_a_missing_value_is_not_known_and_other_operators_count_nothing(count):
    graph = graph_of(lambda x: (x @ x).relu(), torch.ones(2, 2))
    for node in graph.nodes:
        node.meta.pop("val", None)
    assert [count(node) for node in graph.nodes if node.op == "call_function"] == [None, 0]


def test_what_calls_a_graph_is_not_known_and_neither_is_how_long_it_takes():
    def program(x):
        return torch.cond(x.sum() > 0, lambda x: x @ x, lambda x: x + 1, (x,)).relu()

    graph_module = make_fx(program, tracing_mode="fake")(torch.ones(4, 4))
    assert [count for node in graph_module.graph.nodes if (count := hinted_flops(node)) != 0] == [None]
    timeline = estimate_timeline(schedule_of(graph_module), hardware_named("h100"))
    assert timeline.total_ms is None and timeline.peak_bytes is not None
    assert [span.node for span in timeline.spans if span.end_ms is None] == ["cond"]
