"""A private copy of a graph module: nothing that a pass edits is shared with the original."""

from __future__ import annotations

import copy

from torch import fx

_STRUCTURE = frozenset(
    {"_graph", "_code", "_lineno_map", "_prologue_start", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"}
)


def copy_graph_module(graph_module: fx.GraphModule) -> fx.GraphModule:
    """A copy with its own graph and node metadata, that shares tensors, submodules and process groups with the original.

    ``copy.deepcopy`` does not serve: it loses plain attributes such as ``state_fqns``, lets nodes share one
    ``meta["custom"]`` and fails on process groups.

    Args:
        graph_module: left as it is.

    Returns:
        A graph module whose nodes have the same names, order and code. Every node has its own ``meta``, and its own copy of
        ``meta["custom"]`` down to the leaves. Attributes set on the original are set on the copy.
    """
    graph = copy_graph(graph_module.graph)
    result = fx.GraphModule(graph_module, graph, class_name=type(graph_module).__name__)
    result.train(graph_module.training)
    for name, value in vars(graph_module).items():
        if name not in _STRUCTURE and name not in ("meta", "training"):
            result.__dict__[name] = value
    result.meta = dict(graph_module.meta)
    return result


def copy_graph(graph: fx.Graph) -> fx.Graph:
    """A copy of a graph whose nodes share no metadata dict with the original's."""
    result = fx.Graph(owning_module=None, tracer_cls=graph._tracer_cls)
    mapping: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        mapping[node] = twin = result.node_copy(node, mapping.__getitem__)
        own_custom(twin)
    result._codegen = copy.copy(graph._codegen)
    return result


def own_custom(node: fx.Node) -> None:
    """Give a node its own ``meta["custom"]``, if it has one, so that a tag on it tags no other node."""
    if "custom" in node.meta:
        node.meta["custom"] = own(node.meta["custom"])


def own(value: object) -> object:
    """The same nest of dicts and lists, made anew; leaves are shared."""
    if isinstance(value, dict):
        return {key: own(item) for key, item in value.items()}
    if isinstance(value, list):
        return [own(item) for item in value]
    return value
