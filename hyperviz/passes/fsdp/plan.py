"""What a sharded graph remembers: which parameters are cut, how, and over which ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import fx

from hyperviz.passes.fsdp.group import ShardGroup
from hyperviz.passes.fsdp.layout import ShardLayout

KEY = "fsdp"


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """How the parameters of a step are spread over ranks; ``graph_module.meta["fsdp"]`` of a graph that went through ``FSDPPass``.

    Attributes:
        group: the ranks.
        layouts: sharded parameter → how it is cut; the others are replicated.
        units: sharded parameter → the wrapped module that it is gathered with.
        reshard_after_forward: whether it is gathered twice.
        kept: the parameters that are gathered once even so, because the backward reads them before any other.
    """

    group: ShardGroup
    layouts: Mapping[str, ShardLayout]
    units: Mapping[str, str]
    reshard_after_forward: bool
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        replicas = f", {self.group.num_replicas} replicas" if self.group.num_replicas > 1 else ""
        when = "gathered in the forward and again in the backward" if self.reshard_after_forward else "gathered once"
        kept = f", but for {_listed(self.kept)}, read by the backward before any other" if self.kept else ""
        return f"{len(self.layouts)} parameters sharded over {self.group.degree} ranks{replicas}, {when}{kept}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more"


def shard_plan_of(sharded: object) -> ShardPlan:
    """The plan that a sharded graph carries.

    Args:
        sharded: a joint graph or a graph module.

    Raises:
        ValueError: it has not been sharded.
    """
    graph_module = getattr(sharded, "graph_module", sharded)
    plan = graph_module.meta.get(KEY) if isinstance(graph_module, fx.GraphModule) else None
    if plan is None:
        raise ValueError(f"sharded must be a graph that FSDPPass has been through, as hv.apply_passes returns, got {sharded!r:.80}")
    return plan
