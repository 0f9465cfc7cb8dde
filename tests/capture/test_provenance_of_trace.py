"""Where the nodes of a captured step say that they come from."""

import inspect

import pytest
import torch
from torch import nn

from hyperviz.capture import trace
from hyperviz.graph import take_snapshot


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return helper(self.linear(x)) + x


def helper(x):
    return torch.tanh(x)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.halves = nn.ModuleList([Half(), Half()])
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        for half in self.halves:
            x = half(x)
        return x


def step(model, x):
    y = model(x)
    with torch.fx.traceback.annotate({"mine": {"a": 1}}):
        y = y.exp()
    return y.sum()


@pytest.fixture(scope="module")
def joint():
    return trace(Whole(), step, {"x": torch.ones(2, 4)})


@pytest.fixture(scope="module")
def nodes(joint):
    graph = take_snapshot(
        joint.graph_module, state_fqns=joint.state_fqns, state_is_param=joint.state_is_param, input_names=joint.input_names
    )
    return graph.by_name()


def of(nodes, target):
    return [node for node in nodes.values() if node.target == target]


def test_every_node_but_the_output_has_a_phase_and_the_backward_follows_the_forward(nodes):
    phases = [node.phase for node in nodes.values()]
    assert phases[-1] == ""
    first = phases.index("backward")
    assert set(phases[:first]) == {"forward"} and set(phases[first:-1]) == {"backward"}
    assert list(nodes)[first] == "ones_like"


def test_placeholders_say_what_they_stand_for(nodes):
    kinds = {node.target: (node.kind, node.module_path) for node in nodes.values() if node.op == "placeholder"}
    assert kinds["halves.1.linear.bias"] == ("parameter", "halves.1.linear")
    assert kinds["count"] == ("buffer", "")
    assert kinds["x"] == ("input", "")


def test_module_paths(nodes):
    assert [node.module_path for node in of(nodes, "aten.addmm.default")] == ["halves.0.linear", "halves.1.linear"]
    assert [node.module_path for node in of(nodes, "aten.tanh.default")] == ["halves.0", "halves.1"]
    assert [node.module_path for node in of(nodes, "aten.exp.default")] == [""]


def test_the_users_line_is_the_innermost_of_their_own(nodes):
    def first_line(function):
        return inspect.getsourcelines(function)[1]

    (exp,) = of(nodes, "aten.exp.default")
    assert (exp.source.file, exp.source.line, exp.source.code, exp.source.function) == (
        __file__,
        first_line(step) + 3,
        "y = y.exp()",
        "step",
    )
    for tanh in of(nodes, "aten.tanh.default"):
        assert (tanh.source.line, tanh.source.function) == (first_line(helper) + 1, "helper")
    for addmm in of(nodes, "aten.addmm.default"):
        assert addmm.source.code == "return helper(self.linear(x)) + x"
    assert all(node.source is not None for node in nodes.values() if node.op == "call_function")


def test_backward_nodes_belong_to_their_forward_node(nodes):
    tanhs, backward = of(nodes, "aten.tanh.default"), of(nodes, "aten.tanh_backward.default")
    assert [node.twin for node in backward] == [tanh.name for tanh in reversed(tanhs)]
    assert [node.module_path for node in backward] == ["halves.1", "halves.0"]
    assert [node.source for node in backward] == [tanh.source for tanh in reversed(tanhs)]
    for mm in of(nodes, "aten.mm.default"):
        assert nodes[mm.twin].target == "aten.addmm.default"
    assert all(node.twin in nodes and nodes[node.twin].phase == "forward" for node in nodes.values() if node.phase == "backward")
    assert not any(node.twin for node in nodes.values() if node.phase != "backward")


def test_the_seed_and_sums_of_gradients_follow_the_value_they_belong_to(nodes):
    (seed,) = of(nodes, "aten.ones_like.default")
    assert nodes[seed.twin].target == "aten.sum.default"
    sums = [node for node in of(nodes, "aten.add.Tensor") if node.phase == "backward"]  # x goes into linear and the residual
    assert [node.module_path for node in sums] == ["halves.0"]


def test_sequence_numbers_pair_forward_and_backward(joint):
    nodes = {node.name: node for node in joint.graph_module.graph.nodes}
    for node in nodes.values():
        if node.target is torch.ops.aten.tanh_backward.default:
            assert node.meta["seq_nr"] == nodes[node.meta["twin"]].meta["seq_nr"]
    assert "seq_nr" not in nodes["ones_like"].meta


def test_annotations_go_to_the_backward_and_nobody_shares_them(joint):
    marked = [node for node in joint.graph_module.graph.nodes if node.meta.get("custom") == {"mine": {"a": 1}}]
    assert [node.meta["phase"] for node in marked] == ["forward", "backward"]
    forward, backward = (node.meta["custom"] for node in marked)
    assert forward is not backward and forward["mine"] is not backward["mine"]


def test_saved_values_are_what_the_backward_reads(joint):
    graph = take_snapshot(joint.graph_module)
    saved = {(producer.target, consumer.target) for producer, consumer in graph.saved_values()}
    assert ("aten.tanh.default", "aten.tanh_backward.default") in saved
    assert ("aten.exp.default", "aten.mul.Tensor") in saved
