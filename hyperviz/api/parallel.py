"""The parallel passes: a joint graph in, one rank's part of the step out, again a joint graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from torch import fx, nn

from hyperviz.api.programs import Graph, graph_module_of
from hyperviz.capture import FakeWorld, JointGraph
from hyperviz.graph import copy_graph_module
from hyperviz.graph.gathers import rewrite_gathers
from hyperviz.passes import PassConfig, PassPipeline, check_same_order, fake_group, shard_model
from hyperviz.passes.fsdp.plan import KEY

_DONE = "parallel_passes"


def apply_passes(joint: Graph, config: PassConfig, *, model: nn.Module | None = None) -> Graph:
    """Run the parallel passes only; what comes back is traced, planned, compiled and run as before, on shards.

    Every rank calls it, with a model of the same values: before anything is changed, the ranks tell each other the order in which
    they will communicate.

    Args:
        joint: what ``hv.trace`` returned; left as it is. A pass that it has been through does not run again.
        config: the parallel fields are read.
        model: its parameters become this rank's shards in place. Left out, and on a fake world, no model is touched.

    Returns:
        A joint graph of the same inputs and outputs, with shards in the place of sharded parameters and their gradients;
        ``hv.compile`` runs only the terminal pass on it.

    Raises:
        ValueError: there are no ranks to shard over, a wrapped name matches nothing, ranks differ in the order of communication, or
            the model is not the one that was captured.
    """
    graph_module_of(joint)
    if not isinstance(config, PassConfig):
        raise ValueError(f"config must be a PassConfig, got {type(config).__name__}")
    before = graph_module_of(joint)
    sharded = parallelised(joint, config, [name for name, _ in model.named_modules()] if model is not None else ())
    graph_module = graph_module_of(sharded)
    if world_of(joint) is None:
        check_same_order(graph_module)
        if model is not None and KEY in graph_module.meta and KEY not in before.meta:
            shard_model(model, graph_module.meta[KEY])
    return sharded


def parallelised(joint: Graph, config: PassConfig, module_names: Any = ()) -> Graph:
    """The graph after the parallel passes that a config asks for; the same object where there is nothing to do, or it is done."""
    original = graph_module_of(joint)
    done: tuple[str, ...] = original.meta.get(_DONE, ())
    passes = tuple(graph_pass for graph_pass in PassPipeline.parallel(config).passes if graph_pass.name not in done)
    if not passes:
        return joint
    graph_module = copy_graph_module(original)
    context: dict[str, Any] = {"module_names": module_names}
    if isinstance(joint, JointGraph):
        context |= {"state_fqns": joint.state_fqns, "state_is_param": joint.state_is_param}
    if (world := world_of(joint)) and config.fsdp_enabled:
        context["shard_group"] = fake_group(config, world.size, world.rank)
    PassPipeline(passes).run(graph_module, config, **context)
    names = tuple(graph_pass.name for graph_pass in passes)
    graph_module.meta[_DONE] = (*done, *names)
    return with_graph(joint, graph_module, *_sentences(graph_module, names))


def _sentences(graph_module: fx.GraphModule, names: Iterable[str]) -> Iterator[str]:
    """What each pass did, for every picture of the graph to say."""
    keys = {"fsdp": KEY, "bucket": "buckets"}
    for name in names:
        if result := graph_module.meta.get(keys.get(name, name)):
            yield getattr(result, "sentence", str(result))


def runnable(joint: Graph) -> Graph:
    """The graph as its backend can run it: the same object, or one with its gathers rewritten and a note that says so."""
    if world_of(joint) is not None:
        return joint
    graph_module = copy_graph_module(graph_module_of(joint))
    note = rewrite_gathers(graph_module)
    return with_graph(joint, graph_module, note) if note else joint


def with_graph(joint: Graph, graph_module: fx.GraphModule, *notes: str) -> Graph:
    """The same program around another graph module."""
    if not isinstance(joint, JointGraph):
        return graph_module
    example_inputs = tuple(node.meta["val"] for node in graph_module.graph.find_nodes(op="placeholder"))
    return dataclasses.replace(joint, graph_module=graph_module, example_inputs=example_inputs, notes=(*joint.notes, *notes))


def world_of(joint: Graph) -> FakeWorld | None:
    """The world of ranks that do not exist which a graph was captured for, if it was."""
    return joint.world if isinstance(joint, JointGraph) else None
