"""Fully sharded data parallel, as a pass over the joint graph."""

from hyperviz.passes.fsdp.fsdp_pass import FSDPPass
from hyperviz.passes.fsdp.group import ShardGroup, fake_group
from hyperviz.passes.fsdp.layout import ShardLayout
from hyperviz.passes.fsdp.plan import ShardPlan, shard_plan_of
from hyperviz.passes.fsdp.state import full_state_dict, load_full_state_dict, shard_model

__all__ = [
    "FSDPPass",
    "ShardGroup",
    "ShardLayout",
    "ShardPlan",
    "fake_group",
    "full_state_dict",
    "load_full_state_dict",
    "shard_model",
    "shard_plan_of",
]
