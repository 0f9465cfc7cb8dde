"""What a pass is, and how passes follow each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from torch import fx

from hyperviz.passes.config import PassConfig


class GraphPass(ABC):
    """A pass: a graph module goes in, the same graph module, edited in place, comes out."""

    name: str = ""

    @abstractmethod
    def run(self, graph_module: fx.GraphModule, pass_config: PassConfig, **context: Any) -> fx.GraphModule:
        """Edit a graph in place.

        Args:
            graph_module: the graph; left as it was if the pass raises.
            pass_config: what a person asked for.
            **context: what the pass needs besides, by name, as in ``example_inputs``; a pass ignores what it does not know.

        Returns:
            ``graph_module``, the same object.
        """


@dataclass(frozen=True, slots=True)
class PassPipeline:
    """Passes that run one after the other.

    Attributes:
        passes: in the order in which they run; the terminal pass is last.
    """

    passes: tuple[GraphPass, ...] = ()

    @classmethod
    def from_config(cls, config: PassConfig) -> PassPipeline:
        """The pipeline that a config asks for: the parallel passes, then, but for mode ``"off"``, the Inductor pass."""
        return cls(cls.parallel(config).passes + cls.terminal(config).passes)

    @classmethod
    def parallel(cls, config: PassConfig) -> PassPipeline:
        """The passes that a config asks for before the terminal one: their result is an authoritative graph again."""
        from hyperviz.passes.buckets import BucketPass
        from hyperviz.passes.fsdp import FSDPPass
        from hyperviz.passes.offload import OffloadPass
        from hyperviz.passes.overlap import OverlapPass

        asked = {
            FSDPPass: config.fsdp_enabled,
            BucketPass: config.bucket_enabled,
            OverlapPass: config.enable_overlap,
            OffloadPass: config.offload_enabled,
        }
        return cls(tuple(graph_pass() for graph_pass, wanted in asked.items() if wanted))

    @classmethod
    def terminal(cls, config: PassConfig) -> PassPipeline:
        """The pass that ends a pipeline; none in mode ``"off"``."""
        from hyperviz.passes.inductor import InductorPass

        return cls((InductorPass(),) if config.inductor_mode != "off" else ())

    def run(self, graph_module: fx.GraphModule, pass_config: PassConfig, **context: Any) -> fx.GraphModule:
        """Run every pass on the graph, in place; see ``GraphPass.run``."""
        for graph_pass in self.passes:
            graph_module = graph_pass.run(graph_module, pass_config, **context)
        return graph_module
