"""Which nodes share memory, and which write to it: by fake values, by schema, and by name."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from hyperviz.analysis import Memory, written


def _traced(function, *inputs):
    return make_fx(function, tracing_mode="fake")(*inputs).graph


def _node(graph, name):
    return next(node for node in graph.nodes if node.name == name)


def _program(x):
    view = x.t()
    part = view[0]
    other = torch.relu(x)
    halves = other.split(1)
    return part, halves[0] + 1


@pytest.mark.parametrize("with_values", [True, False])
def test_views_and_parts_share_memory_and_copies_do_not(with_values):
    graph = _traced(_program, torch.ones(2, 2))
    if not with_values:
        for node in graph.nodes:
            node.meta.pop("val", None)
    memory = Memory(graph)
    x, t, part, relu, half = (_node(graph, name) for name in ("x_1", "t", "select", "relu", "getitem"))
    assert memory.of(x) is memory.of(t) is memory.of(part)
    assert memory.of(relu) is memory.of(half) is not memory.of(x)
    assert [node.name for node in memory.touching(relu)] == ["relu", "split", "getitem", "getitem_1", "add"]


def test_inputs_that_were_views_of_one_tensor_share_memory():
    base = torch.arange(4.0)
    graph = _traced(lambda x, y: (x + 1, y + 1), base[:2], base[2:])
    first, second = (node for node in graph.nodes if node.op == "placeholder")
    assert Memory(graph).of(first) is Memory(graph).of(second)


def test_writes_are_read_off_the_schema_the_method_and_the_python_operator():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    cases = [
        (graph.call_function(torch.ops.aten.add_.Tensor, (x, y)), [x]),
        (graph.call_function(torch.ops.aten._foreach_add_.List, ([x, y], [y, x])), [x, y]),
        (graph.call_function(torch.ops.aten.add.out, (x, y), {"out": y}), [y]),
        (graph.call_method("add_", (x, y)), [x]),
        (graph.call_method("__add__", (x, y)), []),
        (graph.call_function(operator.iadd, (x, y)), [x]),
        (graph.call_function(operator.setitem, (x, slice(None), y)), [x]),
        (graph.call_function(torch.relu_, (x,)), [x]),
        (graph.call_function(torch.ops.inductor.resize_storage_bytes_.default, (x, 0)), [x]),
        (graph.call_function(torch.ops.aten.add.Tensor, (x, y)), []),
    ]
    for node, expected in cases:
        assert written(node) == expected, node.target


@pytest.mark.parametrize("with_values", [True, False])
def test_a_wait_returns_the_memory_that_its_launch_filled(with_values):
    graph, operators = fx.Graph(), torch.ops._c10d_functional
    x = graph.placeholder("x")
    buffer = graph.call_function(torch.ops.aten.empty.memory_format, ([4],))
    launch = graph.call_function(operators.all_gather_into_tensor_out.default, (x, 2, "0"), {"out": buffer})
    wait = graph.call_function(operators.wait_tensor.default, (launch,))
    if with_values:  # torch's own fake wait returns a tensor of its own
        for node in graph.nodes:
            node.meta["val"] = torch.empty(4)
    memory = Memory(graph)
    assert memory.of(buffer) is memory.of(launch) is memory.of(wait) is not memory.of(x)
