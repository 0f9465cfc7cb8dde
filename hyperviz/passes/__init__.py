"""Graph → graph: the config, the pipeline and its passes."""

from hyperviz.passes.agreement import check_same_order
from hyperviz.passes.base import GraphPass, PassPipeline
from hyperviz.passes.buckets import BucketPass
from hyperviz.passes.compiled import CompiledGraph, CompiledRegion
from hyperviz.passes.config import PassConfig
from hyperviz.passes.errors import RegionCompileError
from hyperviz.passes.fsdp import FSDPPass, fake_group, full_state_dict, load_full_state_dict, shard_model
from hyperviz.passes.inductor import InductorPass
from hyperviz.passes.offload import OffloadPass
from hyperviz.passes.overlap import OverlapPass
from hyperviz.passes.settings import check_settings, list_settings, parse_setting

__all__ = [
    "BucketPass",
    "CompiledGraph",
    "CompiledRegion",
    "FSDPPass",
    "GraphPass",
    "InductorPass",
    "OffloadPass",
    "OverlapPass",
    "PassConfig",
    "PassPipeline",
    "RegionCompileError",
    "check_same_order",
    "check_settings",
    "fake_group",
    "full_state_dict",
    "list_settings",
    "load_full_state_dict",
    "parse_setting",
    "shard_model",
]
