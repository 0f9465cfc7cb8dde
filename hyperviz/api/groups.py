"""Which ranks are in the process groups that a graph names, also where these are not up."""

from __future__ import annotations

import torch.distributed as dist
from torch import fx

from hyperviz.graph.collectives import group_of, kind_of
from hyperviz.graph.groups import find_group
from hyperviz.passes.fsdp.plan import KEY, ShardPlan


def group_ranks(graph_module: fx.GraphModule) -> dict[str, tuple[int, ...]]:
    """Name of a process group → its ranks, for the groups of which they are known.

    A sharded graph knows its own: neighbours share a parameter, and those at the same place in their groups replicate it. They are
    counted from the first rank that neighbours it. Of the others torch is asked.
    """
    found: dict[str, tuple[int, ...]] = {}
    for name in {group_of(node) for node in graph_module.graph.nodes if kind_of(node)}:
        if (group := find_group(name)) is not None:
            found[name] = tuple(dist.get_process_group_ranks(group))
    plan = graph_module.meta.get(KEY)
    if isinstance(plan, ShardPlan):
        group = plan.group
        found[group.everyone] = tuple(range(group.num_ranks))
        found[group.name] = tuple(range(group.degree))
        if group.replicas:
            found[group.replicas] = tuple(range(0, group.num_ranks, group.degree))
    return found


def group_sizes(graph_module: fx.GraphModule) -> dict[str, int]:
    """Name of a process group → how many ranks it has."""
    return {name: len(ranks) for name, ranks in group_ranks(graph_module).items()}
