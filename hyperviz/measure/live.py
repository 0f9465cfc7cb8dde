"""The memory that a run of a graph really holds while each of its nodes executes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from hyperviz.graph import calm
from hyperviz.measure.peak import record_allocations

_MARK = "hyperviz node "


class NodeByNode(fx.Interpreter):
    """Runs a graph as its generated code does: a value goes with its last reader, and at once if it has none."""

    def run_node(self, n: fx.Node) -> Any:
        """One node."""
        result = self.perform(n)
        return result if n.users or n.op == "output" else None

    def perform(self, n: fx.Node) -> Any:
        """What the node does; for others to watch."""
        return super().run_node(n)


class _Marked(NodeByNode):
    def perform(self, n: fx.Node) -> Any:
        with torch.autograd.profiler.record_function(_MARK + n.name):
            return super().perform(n)


def live_bytes(graph_module: fx.GraphModule, flat: Sequence[object]) -> dict[str, int] | None:
    """Runs a graph on the CPU once and says what it held at the fullest moment of each node.

    Args:
        graph_module: has run before, since what it compiles or caches on its first run would count.
        flat: one value for each placeholder; an in-place write of the graph reaches them.

    Returns:
        Node name → bytes that the run had allocated and not released, exact to the byte, an operator's scratch memory from torch's
        allocator included; inputs are not counted. None while another profiler runs.
    """

    def call() -> object:
        with calm():
            return _Marked(graph_module).run(*flat)

    events = record_allocations(call)
    if events is None:
        return None
    found: dict[str, int] = {}
    held, node = 0, ""
    for event in events:
        if event.kind() == "push" and event.name().startswith(_MARK):
            node = event.name().removeprefix(_MARK)
            found[node] = held
        elif event.kind() == "memory_alloc":
            held += event.cpu_memory_usage()
            if node:
                found[node] = max(found[node], held)
    return found
