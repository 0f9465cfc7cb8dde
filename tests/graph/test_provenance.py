"""Phases, twins and module paths on graphs built by hand."""

import pytest
import torch
from torch import fx

from hyperviz.graph.provenance import find_twins, module_path, write_provenance

aten = torch.ops.aten


@pytest.fixture
def graph():
    """Forward ``sin, floor, cos``; backward: a seed, two nodes of cos, one of sin, a sum that nothing but the output reads."""
    graph = fx.Graph()
    x = graph.placeholder("x")

    def call(target, *arguments, seq_nr=None, module=None, **meta):
        node = graph.create_node("call_function", target, arguments, name=target._schema.name.removeprefix("aten::"))
        node.meta.update(meta)
        if seq_nr is not None:
            node.meta["seq_nr"] = seq_nr
        if module is not None:
            node.meta["nn_module_stack"] = {"": ("", object), module: (module, object)}
        return node

    sin = call(aten.sin.default, x, seq_nr=3, module="a", stack_trace='File "model.py", line 1, in forward\n    sin')
    floor = call(aten.floor.default, sin, seq_nr=3, module="b")  # not differentiable: the number is still that of sin
    cos = call(aten.cos.default, sin, seq_nr=4, module="c", custom={"tag": {"on": True}})
    seed = call(aten.ones_like.default, cos)
    first = call(aten.neg.default, seed, seq_nr=4)
    second = call(aten.mul.Tensor, first, first, seq_nr=4)
    third = call(aten.mul.Tensor, second, x, seq_nr=3)
    total = call(aten.add.Tensor, third, third)
    graph.output([cos, floor, total])
    names = ("sin", "floor", "cos", "seed", "first", "second", "third", "total")
    return graph, dict(zip(names, (sin, floor, cos, seed, first, second, third, total), strict=True))


def test_phases_paths_and_twins(graph):
    graph, nodes = graph
    write_provenance(graph, nodes["seed"])
    assert {name: node.meta["phase"] for name, node in nodes.items()} == {
        **dict.fromkeys(["sin", "floor", "cos"], "forward"),
        **dict.fromkeys(["seed", "first", "second", "third", "total"], "backward"),
    }
    assert {name: (node.meta.get("twin"), node.meta["module_path"]) for name, node in nodes.items()} == {
        "sin": (None, "a"),
        "floor": (None, "b"),
        "cos": (None, "c"),
        "seed": ("cos", "c"),
        "first": ("cos", "c"),
        "second": ("cos", "c"),
        "third": ("sin", "a"),
        "total": ("sin", "a"),
    }
    assert "phase" not in graph.output_node().meta


def test_source_and_annotations_go_to_the_backward_unshared(graph):
    graph, nodes = graph
    write_provenance(graph, nodes["seed"])
    assert nodes["third"].stack_trace == nodes["sin"].stack_trace
    assert nodes["first"].stack_trace is None
    tags = [nodes[name].meta["custom"]["tag"] for name in ("cos", "seed", "first", "second")]
    assert all(tag == {"on": True} for tag in tags)
    assert len({id(tag) for tag in tags}) == 4


def test_a_backward_node_keeps_what_it_has_of_its_own(graph):
    graph, nodes = graph
    nodes["third"].meta["stack_trace"] = "own"
    nodes["third"].meta["nn_module_stack"] = {"": ("", object), "again": ("again", object)}
    nodes["first"].meta["custom"] = {"tag": {"on": False}}
    write_provenance(graph, nodes["seed"])
    assert nodes["third"].stack_trace == "own"
    assert nodes["third"].meta["module_path"] == "again"
    assert nodes["first"].meta["custom"] == {"tag": {"on": False}}


def test_without_a_backward_all_is_forward(graph):
    graph, nodes = graph
    write_provenance(graph, None)
    assert {node.meta["phase"] for node in nodes.values()} == {"forward"}
    assert not any("twin" in node.meta for node in nodes.values())


def test_no_numbers_no_twins(graph):
    graph, nodes = graph
    for node in nodes.values():
        node.meta.pop("seq_nr", None)
    assert find_twins([nodes["sin"]], [nodes["seed"], nodes["first"]]) == {}


@pytest.mark.parametrize(
    ("stack", "path"),
    [
        (None, ""),
        ({}, ""),
        ({"": ("", "Net")}, ""),
        ({"": ("", "Net"), "blocks.0": ("blocks.0", "Block"), "blocks.0.mlp": ("blocks.0.mlp", "MLP")}, "blocks.0.mlp"),
        ({"L__self__": ("L['self']", object), "L__self___blocks_0": ("L['self'].blocks[0]", object)}, "blocks.0"),
        ({"L__self__": ("L['self']", object), "x": ("L['self']._modules['head'].out", object)}, "_modules.head.out"),
    ],
)
def test_module_paths_of_make_fx_and_dynamo(stack, path):
    node = fx.Graph().placeholder("x")
    node.meta["nn_module_stack"] = stack
    assert module_path(node) == path
