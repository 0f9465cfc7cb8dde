"""A graph as plain data, whoever made it."""

import dataclasses
import operator

import pytest
import torch
from torch import fx, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.shape_prop import ShapeProp

from hyperviz.graph import take_snapshot
from hyperviz.graph.describe import describe_tensor
from hyperviz.snapshot import TensorSnapshot

aten = torch.ops.aten


def snapshot(function, *arguments, mode="fake", **options):
    return take_snapshot(make_fx(function, tracing_mode=mode)(*arguments), **options)


def test_nodes_in_order_with_what_they_read_and_produce():
    graph = snapshot(lambda x, y: x.t() @ (y + y), torch.ones(2, 3), torch.ones(2, 4), title="T", notes=["n"])
    assert [(node.op, node.target, node.inputs) for node in graph.nodes] == [
        ("placeholder", "x_1", ()),
        ("placeholder", "y_1", ()),
        ("call_function", "aten.t.default", ("x_1",)),
        ("call_function", "aten.add.Tensor", ("y_1",)),
        ("call_function", "aten.mm.default", ("t", "add")),
        ("output", "output", ("mm",)),
    ]
    assert graph.nodes[2].tensors == (TensorSnapshot((3, 2), "float32", (1, 3), "cpu", 24),)
    assert (graph.title, graph.notes) == ("T", ("n",))
    assert graph.versions["torch"] == torch.__version__
    assert not any(node.phase or node.twin or node.source for node in graph.nodes)


def test_placeholders_stand_for_state_and_inputs():
    graph = snapshot(
        lambda w, m, x: w * x + m,
        *[torch.ones(2)] * 3,
        state_fqns=("layer.weight", "layer.mean"),
        state_is_param=(True, False),
        input_names=("batch.x",),
    )
    assert [(node.target, node.kind) for node in graph.nodes[:3]] == [
        ("layer.weight", "parameter"),
        ("layer.mean", "buffer"),
        ("batch.x", "input"),
    ]
    assert {node.kind for node in graph.nodes[3:]} == {""}


def test_several_results_and_getitem():
    graph = snapshot(lambda x: torch.max(x, dim=1)[1], torch.ones(2, 3)).by_name()
    assert [str(tensor) for tensor in graph["max_1"].tensors] == ["float32[2]", "int64[2]"]
    assert graph["getitem_1"].target == "operator.getitem"
    assert graph["max_1"].num_bytes == 8 + 16


def test_symbolic_sizes_are_text_and_have_no_bytes():
    graph = snapshot(lambda x: x[:, None] * 2, torch.ones(5), mode="symbolic")
    tensor = graph.by_name()["mul"].tensors[0]
    assert all(isinstance(size, (int, str)) for size in tensor.shape)
    assert isinstance(tensor.shape[0], str) and tensor.num_bytes is None


def test_sparse_tensors_have_neither_strides_nor_a_known_size():
    tensor = describe_tensor(torch.eye(3).to_sparse())
    assert (tensor.shape, tensor.stride, tensor.num_bytes) == ((3, 3), (), None)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.scale = torch.ones(2)

    def forward(self, x):
        return (self.linear(x) * self.scale).relu()


def test_a_symbolic_trace_without_values():
    graph = take_snapshot(fx.symbolic_trace(Net()))
    assert [(node.op, node.target) for node in graph.nodes] == [
        ("placeholder", "x"),
        ("call_module", "linear"),
        ("get_attr", "scale"),
        ("call_function", "operator.mul"),
        ("call_method", "relu"),
        ("output", "output"),
    ]
    described = {node.name: node.tensors for node in graph.nodes if node.tensors}
    assert described == {"scale": (TensorSnapshot((2,), "float32", (1,), "cpu", 8),)}  # the attribute is there to look at
    assert graph.by_name()["linear"].module_path == "linear"


def test_what_shape_propagation_left_is_read():
    module = fx.symbolic_trace(Net())
    ShapeProp(module).propagate(torch.ones(4, 3))
    (tensor,) = take_snapshot(module).by_name()["linear"].tensors
    assert (tensor.shape, tensor.dtype, tensor.stride, tensor.num_bytes) == ((4, 2), "float32", (2, 1), 32)


def test_functions_without_a_home_have_names():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output([graph.call_function(target, (x,)) for target in (operator.neg, torch.sin, len, test_several_results_and_getitem)])
    names = [node.target for node in take_snapshot(fx.GraphModule({}, graph)).nodes[1:-1]]
    assert names[0] == "operator.neg" and names[2:] == ["len", f"{__name__}.test_several_results_and_getitem"]
    assert names[1].endswith("sin")


def test_higher_order_operators_and_their_graphs():
    def branch(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    graph = snapshot(branch, torch.ones(3), mode="real")
    targets = [node.target for node in graph.nodes]
    assert "cond" in targets
    assert [node.tensors for node in graph.nodes if node.op == "get_attr"] == [(), ()]


def test_a_twin_that_a_pass_removed_is_forgotten():
    module = make_fx(lambda x: x.sin().cos())(torch.ones(2))
    sin, cos = (node for node in module.graph.nodes if node.op == "call_function")
    cos.meta["twin"] = sin.name
    assert take_snapshot(module).by_name()[cos.name].twin == sin.name
    cos.meta["twin"] = "gone"
    assert take_snapshot(module).by_name()[cos.name].twin == ""


def test_it_only_reads():
    module = make_fx(lambda x: x.sin())(torch.ones(2))
    before = [(node.name, dict(node.meta)) for node in module.graph.nodes]
    graph = take_snapshot(module)
    assert [(node.name, dict(node.meta)) for node in module.graph.nodes] == before
    assert take_snapshot(module) == graph
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.nodes[0].name = "other"
