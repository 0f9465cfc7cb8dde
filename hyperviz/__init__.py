"""See, change and trust what a compiler does to a distributed training step."""

from hyperviz.api import benchmark, compare, compile, explore, export, plan, show
from hyperviz.capture import JointGraph, trace
from hyperviz.passes import (
    CompiledGraph,
    CompiledRegion,
    GraphPass,
    InductorPass,
    PassConfig,
    PassPipeline,
    RegionCompileError,
)

__all__ = [
    "CompiledGraph",
    "CompiledRegion",
    "GraphPass",
    "InductorPass",
    "JointGraph",
    "PassConfig",
    "PassPipeline",
    "RegionCompileError",
    "benchmark",
    "compare",
    "compile",
    "explore",
    "export",
    "plan",
    "show",
    "trace",
]
