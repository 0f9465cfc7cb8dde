"""Graph → graph: the config, the pipeline and its passes."""

from hyperviz.passes.base import GraphPass, PassPipeline
from hyperviz.passes.compiled import CompiledGraph, CompiledRegion
from hyperviz.passes.config import PassConfig
from hyperviz.passes.errors import RegionCompileError
from hyperviz.passes.inductor import InductorPass
from hyperviz.passes.settings import check_settings, list_settings, parse_setting

__all__ = [
    "CompiledGraph",
    "CompiledRegion",
    "GraphPass",
    "InductorPass",
    "PassConfig",
    "PassPipeline",
    "RegionCompileError",
    "check_settings",
    "list_settings",
    "parse_setting",
]
