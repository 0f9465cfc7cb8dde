"""Transfers between an accelerator and its host's memory: which start belongs to which wait."""

from __future__ import annotations

from torch import fx

from hyperviz.graph.kinds import operator_name
from hyperviz.graph.values import hinted_bytes
from hyperviz.snapshot import Collective

HOST = "host memory"
"""Stands where a collective has its process group: torch has one stream for all transfers, in both directions."""
_KINDS = {("ao", "offload"): "offload", ("ao", "reload"): "reload"}
_WAIT = ("ao", "wait_tensor")


def transfer_kind(node: fx.Node) -> str:
    """``"offload"`` or ``"reload"`` for a node that starts a transfer, else empty."""
    return _KINDS.get(operator_name(node.target), "") if node.op == "call_function" else ""


def is_transfer_wait(node: fx.Node) -> bool:
    """Whether the node waits for a transfer."""
    return node.op == "call_function" and operator_name(node.target) == _WAIT


def freed_by(node: fx.Node) -> fx.Node | None:
    """The value whose memory a wait for a transfer gives back, once it has been copied."""
    if not is_transfer_wait(node):
        return None
    kept = node.args[1] if len(node.args) > 1 else node.kwargs.get("keepalive")
    return kept if isinstance(kept, fx.Node) else None


def find_transfers(graph: fx.Graph) -> tuple[Collective, ...]:
    """Every transfer of a graph, in the order of starts, told as a collective of one rank; what computes inside is left empty."""
    waits: dict[fx.Node, list[str]] = {}
    for node in graph.nodes:
        if is_transfer_wait(node) and node.args and isinstance(node.args[0], fx.Node):
            waits.setdefault(node.args[0], []).append(node.name)
    return tuple(
        Collective(node.name, tuple(waits.get(node, ())), kind, HOST, 1, hinted_bytes(node.meta["val"]) if "val" in node.meta else None)
        for node in graph.nodes
        if (kind := transfer_kind(node))
    )
