"""See, change and trust what a compiler does to a distributed training step."""

from hyperviz.api import Ranks, apply_passes, benchmark, compare, compile, explore, export, plan, run_on_ranks, show, timeline
from hyperviz.capture import FakeWorld, JointGraph, trace
from hyperviz.distributed import Link, RankError, launch
from hyperviz.passes import (
    BucketPass,
    CompiledGraph,
    CompiledRegion,
    FSDPPass,
    GraphPass,
    InductorPass,
    OffloadPass,
    OverlapPass,
    PassConfig,
    PassPipeline,
    RegionCompileError,
)
from hyperviz.snapshot import moves_of, windows_of

__all__ = [
    "BucketPass",
    "CompiledGraph",
    "CompiledRegion",
    "FSDPPass",
    "FakeWorld",
    "GraphPass",
    "InductorPass",
    "JointGraph",
    "Link",
    "OffloadPass",
    "OverlapPass",
    "PassConfig",
    "PassPipeline",
    "RankError",
    "Ranks",
    "RegionCompileError",
    "apply_passes",
    "benchmark",
    "compare",
    "compile",
    "explore",
    "export",
    "launch",
    "moves_of",
    "plan",
    "run_on_ranks",
    "show",
    "timeline",
    "trace",
    "windows_of",
]
