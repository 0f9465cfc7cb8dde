"""A plan: exactly what would be compiled, what stays eager, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hyperviz.snapshot.graph import GraphSnapshot

MODES = ("off", "regional", "full")
STRATEGIES = ("runs", "balanced", "annotated", "merged")
ROLES = ("placeholder", "compute", "collective", "wait", "effect", "eager", "output")


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes that compile together.

    Attributes:
        name: ``"region_0"``, ``"region_1"``, … in execution order; the node of the compiled graph has the same name.
        nodes: names of its members, in execution order.
        phase: ``"forward"``, ``"backward"``, ``"both"``, or ``""`` where the graph has no phases.
        flops: floating point operations of its matmuls, convolutions and attention; None where a size is symbolic.
        bytes_in: bytes of the distinct values it reads from outside; None where one is not known.
        bytes_out: bytes of the values of its members that are read outside; None where one is not known.
        settings: the Inductor settings it compiles with.
    """

    name: str
    nodes: tuple[str, ...]
    phase: str = ""
    flops: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number that pictures show: the name's."""
        return int(self.name.rpartition("_")[2])

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a config would do to a graph; nothing has been compiled.

    Attributes:
        graph: the graph that was planned, as plain data.
        mode: one of ``MODES``.
        strategy: one of ``STRATEGIES``.
        roles: node name → one of ``ROLES``, for every node.
        regions: in execution order; empty in mode ``"off"``.
        eager: node name → the reason it stays eager, for every call that no region holds.
        notes: sentences about the plan as a whole, as in why full mode needs two regions.
        order: names of every node in the order in which the compiled graph runs them, where that is not the graph's own.
    """

    graph: GraphSnapshot
    mode: str
    strategy: str
    roles: Mapping[str, str]
    regions: tuple[Region, ...]
    eager: Mapping[str, str]
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    @classmethod
    def of_graph(cls, graph: GraphSnapshot) -> Plan:
        """The plan that compiles nothing, for a graph of which only the snapshot is at hand; roles are read off FX's ops."""
        roles = {"placeholder": "placeholder", "get_attr": "placeholder", "output": "output"}
        return cls(
            graph,
            mode="off",
            strategy=STRATEGIES[0],
            roles={node.name: roles.get(node.op, "compute") for node in graph.nodes},
            regions=(),
            eager={node.name: "off: nothing is compiled" for node in graph.nodes if node.op not in roles},
        )

    def region_of(self) -> dict[str, Region]:
        """Node name → its region, for every node that is compiled."""
        return {name: region for region in self.regions for name in region.nodes}

    @property
    def num_compiled(self) -> int:
        """How many nodes the regions hold."""
        return sum(len(region) for region in self.regions)

    @property
    def summary(self) -> str:
        """Mode and counts."""
        what = f"{len(self.regions)} region{'' if len(self.regions) == 1 else 's'}"
        return f"{self.mode} · {what} · {self.num_compiled} nodes compiled · {len(self.eager)} eager"

    def __str__(self) -> str:
        return " · ".join(filter(None, [self.summary, self.graph.caveat]))
