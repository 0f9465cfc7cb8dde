"""Taking regions out of a graph, and putting calls of them in their place."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from hyperviz.analysis.cost import inputs_of, outputs_of
from hyperviz.graph.copies import own_custom
from hyperviz.graph.handing import hand_over
from hyperviz.graph.kinds import attribute, is_getitem, is_object_attribute

REGION = "hyperviz_region"  # meta key of a call of a region: the names of its members
_STRIDE_FREE = {
    torch.ops.aten.view.default: torch.ops.aten.reshape.default,
    torch.ops.aten._unsafe_view.default: torch.ops.aten.reshape.default,
}


@dataclass(frozen=True, slots=True)
class ExtractedRegion:
    """The nodes of a region as a graph of their own.

    Attributes:
        name: the region's.
        members: the nodes in the graph that it was taken from, in order.
        inputs: the nodes outside that it reads, one for each placeholder.
        results: for each node that something outside reads, where its leaves stand in the outputs: an index, or a list or tuple
            of them for a node that several results leave whole.
        graph_module: takes the inputs' values positionally, returns a flat tuple.
    """

    name: str
    members: tuple[fx.Node, ...]
    inputs: tuple[fx.Node, ...]
    results: dict[fx.Node, object]
    graph_module: fx.GraphModule


def extract(name: str, members: Sequence[fx.Node], root: fx.GraphModule) -> ExtractedRegion:
    """The region as a graph of its own; the graph that it is taken from is left as it is.

    Graphs that higher-order operators call come along. A node with several results of which something outside reads the whole is
    split into ``getitem`` leaves, since what is compiled returns flat tensors; ``results`` tells how to rebuild it. A ``view``
    becomes a ``reshape``: it was traced on eager's strides, and a decomposition may lay its base out otherwise (``cat`` of an empty
    and a transposed tensor does).
    """
    graph = fx.Graph()
    mapping: dict[fx.Node, fx.Node] = {}
    inputs: list[fx.Node] = []
    modules: dict[str, object] = {}
    for node in inputs_of(members):
        if is_object_attribute(node):
            mapping[node] = graph.node_copy(node)
            modules[str(node.target)] = attribute(root, str(node.target))
        else:
            mapping[node] = placeholder = graph.placeholder(node.name)
            placeholder.meta["val"] = node.meta.get("val")
            inputs.append(node)
    for node in members:
        mapping[node] = twin = graph.node_copy(node, mapping.__getitem__)
        twin.target = _STRIDE_FREE.get(node.target, node.target)  # pyright: ignore[reportArgumentType, reportCallIssue]
        own_custom(twin)
        if node.op == "get_attr":
            modules[str(node.target)] = attribute(root, str(node.target))
    outputs: list[fx.Node] = []
    inside = set(members)
    results = {node: _export(mapping[node], node.meta.get("val"), outputs) for node in outputs_of(members) if not _is_split(node, inside)}
    graph.output(tuple(outputs))
    return ExtractedRegion(name, tuple(members), tuple(inputs), results, fx.GraphModule(modules, graph, class_name=name))


def replace(
    graph_module: fx.GraphModule, order: Sequence[fx.Node], regions: Sequence[ExtractedRegion], target: Callable[[ExtractedRegion], str]
) -> fx.Graph:
    """A new graph in the given order in which every region is one ``call_module``, where its last member stood.

    Args:
        graph_module: the graph that the regions were taken from; left as it is.
        order: its nodes in the order in which they are to run.
        regions: what to replace.
        target: region → the name of the submodule to call.
    """
    graph = fx.Graph(tracer_cls=graph_module.graph._tracer_cls)
    last = {region.members[-1]: region for region in regions}
    inside = {node for region in regions for node in region.members}
    mapping: dict[fx.Node, object] = {}
    for node in order:
        if region := last.get(node):
            _call(graph, region, target(region), mapping)
        elif node not in inside or _is_shared_graph(node, inside):
            mapping[node] = graph.node_copy(node, mapping.__getitem__)  # pyright: ignore[reportArgumentType]
    graph._codegen = copy.copy(graph_module.graph._codegen)
    return graph


def _is_shared_graph(node: fx.Node, inside: set[fx.Node]) -> bool:
    return node.op == "get_attr" and not inside.issuperset(node.users)


def _is_split(node: fx.Node, inside: set[fx.Node]) -> bool:
    """Whether only ``getitem`` nodes that are members themselves read the node."""
    return isinstance(node.meta.get("val"), (tuple, list)) and all(is_getitem(user) and user in inside for user in node.users)


def _export(node: fx.Node, value: object, outputs: list[fx.Node]) -> object:
    """Add a node to the outputs, leaf by leaf; where its leaves stand, in the nesting of its value."""
    if isinstance(value, (tuple, list)):
        leaves = []
        for index, item in enumerate(value):
            if item is None:
                leaves.append(None)
                continue
            leaf = node.graph.call_function(operator.getitem, (node, index))
            leaf.meta["val"] = item
            leaves.append(_export(leaf, item, outputs))
        return leaves if isinstance(value, list) else tuple(leaves)
    outputs.append(node)
    return len(outputs) - 1


def _call(graph: fx.Graph, region: ExtractedRegion, target: str, mapping: dict[fx.Node, object]) -> None:
    inputs: Any = tuple(mapping[node] for node in region.inputs)
    handed = graph.create_node("call_function", hand_over, inputs, {}, name=f"{region.name}_inputs")
    call = graph.create_node("call_module", target, (handed,), {}, name=region.name)
    call.meta[REGION] = tuple(node.name for node in region.members)

    def rebuild(place: object, value: object, name: str) -> object:
        if place is None:
            return None
        if isinstance(place, (tuple, list)):
            parts = [rebuild(part, item, name) for part, item in zip(place, value, strict=True)]  # pyright: ignore
            return parts if isinstance(place, list) else tuple(parts)
        item = graph.create_node("call_function", operator.getitem, (call, place), {}, name=name)  # pyright: ignore[reportArgumentType]
        item.meta["val"] = value
        return item

    for node, place in region.results.items():
        mapping[node] = rebuild(place, node.meta.get("val"), node.name)
        if isinstance(result := mapping[node], fx.Node):
            result.meta = {**node.meta, "val": node.meta.get("val")}
            own_custom(result)
    call.meta["val"] = tuple(output.meta.get("val") for output in region.graph_module.graph.output_node().args[0])  # pyright: ignore
