"""Gathers as gloo can run them: into buffers of their own."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from hyperviz.graph.groups import find_group
from hyperviz.graph.kinds import is_wait

c10d = torch.ops._c10d_functional
ALLOCATING = c10d.all_gather_into_tensor.default


def rewrite_gathers(graph_module: fx.GraphModule) -> str:
    """Give every gather a buffer of its own, in place, if several would be in flight at once on gloo.

    Matches, where another such gather is launched before the wait::

        all_gather_into_tensor(shard, n, group)   →   all_gather_into_tensor_out(shard, n, group, out=empty(…))

    Safe because the buffer is new, of the same shape and dtype, and read only through the gather; the order stays as it was.
    Needed because gloo in torch 2.13 corrupts memory when several gathers that allocate for themselves are in flight, and runs any
    number of those that do not. The same bits.

    Returns:
        A sentence that says what was done; empty where nothing was, as on every other backend and on a world that does not run.
    """
    graph = graph_module.graph
    gathers = [node for node in graph.nodes if node.target is ALLOCATING and _is_on_gloo(node)]
    if _most_in_flight(graph, set(gathers)) < 2:
        return ""
    for node in gathers:
        _rewrite(node)
    graph.lint()
    graph_module.recompile()
    return f"{len(gathers)} gathers write into buffers of their own: gloo may crash when several that allocate are in flight"


def _most_in_flight(graph: fx.Graph, gathers: set[fx.Node]) -> int:
    most, flying = 0, set()
    for node in graph.nodes:
        if node in gathers:
            flying.add(node)
        elif is_wait(node):
            flying.difference_update(node.all_input_nodes)
        most = max(most, len(flying))
    return most


def _is_on_gloo(node: fx.Node) -> bool:
    group = find_group(node.kwargs.get("group_name", node.args[-1]))
    return group is not None and dist.get_backend(group) == "gloo"


def _rewrite(node: fx.Node) -> None:
    value = node.meta["val"]
    with node.graph.inserting_before(node):
        options = {"dtype": value.dtype, "device": value.device, "pin_memory": False}
        buffer = node.graph.create_node("call_function", torch.ops.aten.empty.memory_format, (list(value.shape),), options, name="empty")
    buffer.meta = {key: node.meta[key] for key in ("phase", "module_path", "twin", "stack_trace") if key in node.meta}
    buffer.meta["val"] = value
    node.target = c10d.all_gather_into_tensor_out.default
    node.kwargs = {**node.kwargs, "out": buffer}
    if isinstance(value, FakeTensor):
        with torch.no_grad(), value.fake_mode:
            node.meta["val"] = value.view(value.shape)
