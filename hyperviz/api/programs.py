"""What a verb may be given, brought into one shape: a graph, its snapshot, and a callable."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import fx

from hyperviz.api.groups import group_sizes
from hyperviz.capture import JointGraph
from hyperviz.graph import calm, copy_graph_module, take_snapshot
from hyperviz.graph.gathers import rewrite_gathers
from hyperviz.graph.kinds import is_communication
from hyperviz.passes import CompiledGraph
from hyperviz.snapshot import GraphSnapshot

Graph = JointGraph | fx.GraphModule

# A plan is asked for on every click, and the snapshot is the larger part of it.
_snapshots: weakref.WeakKeyDictionary[fx.GraphModule, tuple[int, GraphSnapshot]] = weakref.WeakKeyDictionary()


def graph_module_of(program: object) -> fx.GraphModule:
    """The FX graph of a joint graph or of a plain graph module.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(program, JointGraph):
        return program.graph_module
    if isinstance(program, fx.GraphModule):
        return program
    raise ValueError(f"joint must be what hv.trace returns or a torch.fx.GraphModule, got {type(program).__name__}")


def snapshot_of(program: Graph) -> GraphSnapshot:
    """The graph as plain data, taken once for as long as the graph stays as it is."""
    graph_module = graph_module_of(program)
    state = hash(tuple((node.name, node.op, str(node.target), tuple(map(str, node.all_input_nodes))) for node in graph_module.graph.nodes))
    known = _snapshots.get(graph_module)
    if known is None or known[0] != state:
        known = _snapshots[graph_module] = (state, _take(program))
    return known[1]


def callable_of(program: object) -> Callable[..., Any]:
    """What runs a program on flat inputs, without autograd and autocast.

    Raises:
        ValueError: it cannot be called, or may be looked at but not run.
    """
    if refusal := refusal_of(program):
        raise ValueError(refusal)
    if isinstance(program, JointGraph):
        return program.run
    if isinstance(program, CompiledGraph) or (callable(program) and not isinstance(program, fx.GraphModule)):
        return program
    if isinstance(program, fx.GraphModule):
        return _without_autograd(program)
    raise ValueError(f"a candidate must be a joint graph, a compiled graph, a GraphModule or a callable, got {type(program).__name__}")


def refusal_of(program: object) -> str:
    """Why a program may be looked at but not run; empty where it may."""
    if isinstance(program, (JointGraph, CompiledGraph)):
        return program.refusal
    return program.meta.get("refusal", "") if isinstance(program, fx.GraphModule) else ""


def communicates(*programs: object) -> bool:
    """Whether one of the programs is a graph in which ranks communicate: then all ranks run it equally often."""
    return any(
        "collective" in program.plan.roles.values()
        if isinstance(program, CompiledGraph)
        else isinstance(program, Graph) and any(map(is_communication, graph_module_of(program).graph.nodes))
        for program in programs
    )


def output_names_of(*programs: object) -> tuple[str, ...] | None:
    """The names of the outputs, from the first that knows them."""
    return next((program.output_names for program in programs if isinstance(program, JointGraph)), None)


def _take(program: Graph) -> GraphSnapshot:
    if isinstance(program, JointGraph):
        return take_snapshot(
            program.graph_module,
            title=program.title,
            notes=program.notes,
            state_fqns=program.state_fqns,
            state_is_param=program.state_is_param,
            input_names=program.input_names,
            group_sizes=group_sizes(program.graph_module),
        )
    return take_snapshot(program, title=type(program).__name__, group_sizes=group_sizes(program))


def _without_autograd(graph_module: fx.GraphModule) -> Callable[..., Any]:
    rewritten = copy_graph_module(graph_module)
    if rewrite_gathers(rewritten):
        graph_module = rewritten

    def run(*flat: object) -> Any:
        with calm():
            return graph_module(*flat)

    return run
