"""What a compile leaves behind: regions that can be read, and the graph that calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from hyperviz.graph import calm
from hyperviz.passes.artifact import Artifact
from hyperviz.snapshot import CompileReport, Plan


class CompiledRegion(torch.nn.Module):
    """One region of a compiled graph: called as a submodule, so that it has a name and can be looked into.

    Attributes:
        name: the region's name in the plan.
        nodes: names of its members in the graph that was compiled, in order.
        graph_module: what was compiled, as an FX graph; it runs eagerly.
        settings: what Inductor's config was patched with.
        artifact: what Inductor made; takes a list of inputs, which it empties, and returns a flat sequence.
    """

    def __init__(
        self, name: str, nodes: tuple[str, ...], graph_module: fx.GraphModule, settings: Mapping[str, object], artifact: Artifact
    ) -> None:
        super().__init__()
        self.name = name
        self.nodes = nodes
        self.settings = dict(settings)
        self.artifact = artifact
        # Not a submodule: a walk over modules should find the region, not the inside of it.
        object.__setattr__(self, "graph_module", graph_module)

    @property
    def source(self) -> str:
        """The region as readable Python, with shapes."""
        graph_module: fx.GraphModule = object.__getattribute__(self, "graph_module")
        return graph_module.print_readable(print_output=False)

    def forward(self, inputs: list[object]) -> Any:
        """Call what Inductor made with a list of inputs, which is emptied."""
        return self.artifact(inputs)

    def extra_repr(self) -> str:
        """What a printed module tree shows."""
        return f"{self.name}: {len(self.nodes)} nodes"


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """A graph after its terminal pass. Call it as the graph before: positionally, any number of times.

    Attributes:
        graph_module: a thin wrapper now, no longer authoritative; each region is a submodule with its members and source.
        plan: what was compiled.
        report: how.
        refusal: why it may be looked at but not run; empty where it may.
    """

    graph_module: fx.GraphModule
    plan: Plan
    report: CompileReport
    refusal: str = ""

    def __call__(self, *flat: object) -> Any:
        """The outputs of the graph, in the structure in which it returns them; run under ``no_grad`` and without autocast.

        Raises:
            ValueError: it was made for a world that does not run.
        """
        if self.refusal:
            raise ValueError(self.refusal)
        with calm():
            return self.graph_module(*flat)

    def __repr__(self) -> str:
        return f"CompiledGraph({self.plan})"
