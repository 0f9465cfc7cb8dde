"""Which ranks share a parameter: the group by name, and its replicas."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch.distributed as dist

from hyperviz.graph.groups import find_group
from hyperviz.passes.config import PassConfig

WORLD = "0"


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """The ranks that a step runs on, as one rank sees them.

    Attributes:
        name: of the process group over which parameters are sharded.
        degree: how many ranks are in it.
        rank: this rank's place in it, from 0.
        replicas: name of the process group of the ranks that hold the same shard as this one; empty where there are no others.
        num_replicas: how many ranks are in that, 1 where there are no others.
        everyone: name of the process group of all ranks of the step.
    """

    name: str
    degree: int
    rank: int
    replicas: str = ""
    num_replicas: int = 1
    everyone: str = WORLD

    @property
    def num_ranks(self) -> int:
        """How many ranks the gradient is the mean of."""
        return self.degree * self.num_replicas


def fake_group(config: PassConfig, world_size: int, rank: int) -> ShardGroup:
    """The group on a world that does not run.

    Args:
        config: ``fsdp_degree`` and ``fsdp_group`` are read.
        world_size: how many ranks the world pretends to have.
        rank: which of them looks.

    Raises:
        ValueError: the degree does not divide the world.
    """
    degree = _degree(config, world_size)
    if degree == world_size:
        name = config.fsdp_group or WORLD
        return ShardGroup(name, degree, rank, everyone=name)
    return ShardGroup("shards", degree, rank % degree, "replicas", world_size // degree)


def real_group(config: PassConfig) -> ShardGroup:
    """The group on the ranks that run; makes process groups where the degree is smaller than the world, so every rank must call it.

    Args:
        config: ``fsdp_degree`` and ``fsdp_group`` are read.

    Raises:
        ValueError: no process group is up, ``fsdp_group`` names none, or the degree does not divide the ranks.
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise ValueError(
            "fsdp_enabled needs ranks to shard over: call it inside hv.launch or after torch.distributed.init_process_group, "
            "or capture with hv.trace(..., world=hv.FakeWorld(size=8)) to look at"
        )
    everyone = resolve(config.fsdp_group) if config.fsdp_group else dist.group.WORLD
    assert everyone is not None
    name, size, rank = everyone.group_name, dist.get_world_size(everyone), dist.get_rank(everyone)
    degree = _degree(config, size)
    if degree == size:
        return ShardGroup(name, degree, rank, everyone=name)
    return _hybrid(degree, size, rank)


def resolve(name: str) -> dist.ProcessGroup:
    """The process group of a name.

    Raises:
        ValueError: there is none, or this rank is not in it.
    """
    group = find_group(name)
    if group is None:
        raise ValueError(f"fsdp_group must name a process group that this rank is in, got {name!r}")
    return group


def _degree(config: PassConfig, size: int) -> int:
    degree = config.fsdp_degree or size
    if config.fsdp_group and degree != size:
        raise ValueError(f"fsdp_degree must be left out or be the size of fsdp_group, {size}, got {degree}")
    if size % degree:
        raise ValueError(f"fsdp_degree must divide the number of ranks, {size}, got {degree}")
    return degree


# Process groups are dear and never given back, so those of one world and degree are made once.
_made: weakref.WeakKeyDictionary[dist.ProcessGroup, dict[int, ShardGroup]] = weakref.WeakKeyDictionary()


def _hybrid(degree: int, size: int, rank: int) -> ShardGroup:
    """Neighbouring ranks share, and those at the same place in their groups hold the same shard."""
    assert dist.group.WORLD is not None
    known = _made.setdefault(dist.group.WORLD, {})
    if degree not in known:
        known[degree] = _make_hybrid(degree, size, rank)
    return known[degree]


def _make_hybrid(degree: int, size: int, rank: int) -> ShardGroup:
    shards, _ = dist.new_subgroups_by_enumeration([list(range(start, start + degree)) for start in range(0, size, degree)])
    replicas, _ = dist.new_subgroups_by_enumeration([list(range(place, size, degree)) for place in range(degree)])
    assert isinstance(shards, dist.ProcessGroup) and isinstance(replicas, dist.ProcessGroup), "every rank is in one of each"
    return ShardGroup(shards.group_name, degree, rank % degree, replicas.group_name, size // degree)
