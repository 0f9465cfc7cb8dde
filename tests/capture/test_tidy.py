"""What tracing leaves behind goes, what acts stays."""

import copy

import pytest
import torch
from eager import assert_exact, bits, targets
from torch import nn

from hyperviz.capture import trace
from hyperviz.capture.tidy import tidy

aten = torch.ops.aten
LOG = []


@pytest.fixture(scope="module", autouse=True)
def operators():
    """An operator that returns nothing, and one that writes into its argument."""
    with torch.library._scoped_library("hyperviz_test_capture", "DEF") as library:
        library.define("note(Tensor x) -> ()")
        library.impl("note", lambda x: LOG.append(float(x.sum())), "CPU")
        library.impl("note", lambda x: None, "Meta")
        library.define("bump(Tensor(a!) x) -> Tensor(a!)")
        library.impl("bump", lambda x: x.add_(1), "CompositeExplicitAutograd")
        yield torch.ops.hyperviz_test_capture


def call(graph, target, *args):
    return graph.call_function(target, args)


def test_a_graph_without_leftovers_stays_as_it_is():
    graph = torch.fx.Graph()
    graph.output(call(graph, aten.sin.default, graph.placeholder("x")))
    names = [node.name for node in graph.nodes]
    assert tidy(graph) == 0
    assert [node.name for node in graph.nodes] == names


def test_detach_and_unused_values_go():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    inner = call(graph, aten.detach.default, call(graph, aten.detach.default, x))
    call(graph, aten.cos.default, call(graph, aten.empty_like.default, x))
    graph.output(call(graph, aten.sin.default, call(graph, aten.alias.default, inner)))
    assert tidy(graph) == 5
    graph.lint()
    assert [str(node.target) for node in graph.nodes] == ["x", "aten.sin.default", "output"]


def test_what_writes_draws_acts_or_is_not_known_stays(operators):
    graph = torch.fx.Graph()
    x, state = graph.placeholder("x"), graph.placeholder("state")
    call(graph, aten.copy_.default, state, x)
    call(graph, aten.rand_like.default, x)
    call(graph, aten._assert_async.msg, x, "holds")
    call(graph, operators.note.default, x)
    call(graph, operators.bump.default, state)
    call(graph, aten.native_batch_norm.default, x, None, None, state, state, True, 0.1, 1e-5)
    call(graph, torch.ops._c10d_functional.all_reduce.default, x, "sum", "0")
    graph.output(x)
    assert tidy(graph) == 0


def test_an_alias_whose_shape_changes_in_place_stays():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    alias = call(graph, aten.detach.default, x)
    call(graph, aten.t_.default, alias)
    graph.output((x, alias))
    assert tidy(graph) == 0


def test_writes_through_a_detached_alias_reach_its_source():
    def step(model, x):
        y = model(x)
        seen = y.detach()
        z = y * 1
        seen.add_(1)
        return (z + y.detach() * model.weight.sum()).sum()

    joint = assert_exact(nn.Linear(4, 3), step, {"x": torch.ones(2, 4)})
    assert "aten.detach.default" not in targets(joint)


def test_an_operator_that_returns_nothing_and_an_unused_write_happen_once_per_run(operators):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.unused = nn.BatchNorm1d(4)
            self.register_buffer("last", torch.zeros(2, 4))

        def forward(self, x):
            operators.note(x)
            self.last.copy_(x)
            operators.bump(self.last)
            self.unused(x)
            return self.linear(x)

    model, x = Counting(), torch.rand(2, 4)
    LOG.clear()
    joint = trace(model, lambda model, x: model(x).sum(), {"x": x})
    assert LOG == []
    program, captured = copy.deepcopy(model), copy.deepcopy(model)
    program(x)
    joint.run(*joint.flat_inputs(captured, {"x": x}))
    assert [float(x.sum())] * 2 == LOG
    assert torch.equal(captured.last, x + 1)
    assert [bits(one) for one in captured.buffers()] == [bits(other) for other in program.buffers()]
    kept = targets(joint)
    assert kept.count("hyperviz_test_capture.note.default") == kept.count("aten.copy_.default") == 1
