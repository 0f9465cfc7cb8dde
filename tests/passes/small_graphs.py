"""Small graphs of the kind that real people met, and one way to compile them."""

from __future__ import annotations

import operator

from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from hyperviz.graph import copy_graph_module
from hyperviz.graph.handing import hand_over
from hyperviz.passes import CompiledGraph, InductorPass, PassConfig


def traced(function, *inputs, tracing_mode="fake") -> fx.GraphModule:
    """A graph that holds what the function does, in-place writes and unused calls included."""
    return make_fx(function, tracing_mode=tracing_mode)(*inputs)


def compiled(graph_module: fx.GraphModule, mode="regional", on_error="raise", progress=None, **config) -> CompiledGraph:
    """The pass alone, on a private copy."""
    result = copy_graph_module(graph_module)
    inputs = [node.meta["val"] for node in graph_module.graph.nodes if node.op == "placeholder"]
    InductorPass().run(result, PassConfig(inductor_mode=mode, **config), example_inputs=inputs, on_error=on_error, progress=progress)
    return CompiledGraph(result, result.meta["inductor_plan"], result.meta["inductor_report"])


def roles_in_order(graph: CompiledGraph) -> list[str]:
    """Targets of all calls in the order in which the compiled graph runs them; what takes lists apart or puts them together left out."""
    return [
        str(node.target)
        for node in graph.graph_module.graph.nodes
        if node.op in ("call_function", "call_method", "call_module") and node.target not in (operator.getitem, hand_over)
    ]
