"""Which collectives may become one: those of one module, kind, phase, group and dtype, in the order of their use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx

from hyperviz.graph.collectives import kind_of, named_arguments
from hyperviz.graph.kinds import is_wait
from hyperviz.graph.values import num_bytes

c10d = torch.ops._c10d_functional
GATHER = c10d.all_gather_into_tensor_out.default
_WORDS = {
    GATHER: "gather",
    c10d.reduce_scatter_tensor.default: "reduce-scatter",
    c10d.all_reduce.default: "all-reduce",
}


@dataclass(frozen=True, slots=True)
class Member:
    """One collective that a bucket takes in.

    Attributes:
        fqn: the parameter that it is for.
        launch: the node that starts it.
        wait: its only wait.
        num_bytes: its payload: what a gather returns, what a reduction reads.
    """

    fqn: str
    launch: fx.Node
    wait: fx.Node
    num_bytes: int

    @property
    def input(self) -> fx.Node:
        """What this rank gives."""
        node = self.launch.args[0]
        assert isinstance(node, fx.Node)
        return node


@dataclass(frozen=True, slots=True)
class Group:
    """Collectives that may share a bucket.

    Attributes:
        subject: what its buckets are called, as in ``"blocks.1 gather"``.
        phase: ``"forward"`` or ``"backward"``.
        members: in the order in which gathers are read and gradients are made.
        is_second: whether they reduce the results of others, as over replicas.
    """

    subject: str
    phase: str
    members: list[Member]
    is_second: bool

    def parts(self, limit: int | None) -> list[list[Member]]:
        """Consecutive members of at most ``limit`` bytes; one that is larger stays alone; second ones as the first were parted."""
        if self.is_second:
            return [list(part) for _, part in groupby(self.members, lambda member: member.input.meta.get("bucket"))]
        parts: list[list[Member]] = [[]]
        for member in self.members:
            if parts[-1] and limit is not None and sum(one.num_bytes for one in parts[-1]) + member.num_bytes > limit:
                parts.append([])
            parts[-1].append(member)
        return parts


def find_groups(graph: fx.Graph) -> list[Group]:
    """The collectives that FSDPPass put into a graph, those that may share a bucket together, in execution order."""
    position = {node: index for index, node in enumerate(graph.nodes)}
    groups: dict[tuple[object, ...], list[Member]] = {}
    for launch in position:
        if (member := _member(launch)) is not None:
            groups.setdefault(_key(member), []).append(member)
    for members in groups.values():
        members.sort(key=lambda member: _place(member, position))
    return [_group(members) for members in groups.values()]


def _group(members: list[Member]) -> Group:
    launch, is_second = members[0].launch, is_wait(members[0].input)
    word = _WORDS[launch.target]  # pyright: ignore[reportArgumentType]
    unit = launch.meta.get("fsdp_unit") or ("replicated" if word == "all-reduce" and not is_second else "model")
    return Group(f"{unit} {word}", launch.meta.get("phase") or "forward", members, is_second)


def _member(launch: fx.Node) -> Member | None:
    if launch.target not in _WORDS or "fsdp_param" not in launch.meta:
        return None
    waits = [user for user in launch.users if is_wait(user)]
    payload = launch if launch.target is GATHER else launch.args[0]
    size = num_bytes(payload.meta["val"]) if isinstance(payload, fx.Node) else None
    if size is None or len(waits) != 1 or len(launch.users) != 1:
        return None
    return Member(launch.meta["fsdp_param"], launch, waits[0], size)


def _key(member: Member) -> tuple[object, ...]:
    """What the members of a bucket have in common; a sum over replicas, of results of a bucket, keeps to that bucket's."""
    launch = member.launch
    plain = [(name, value) for name, value in named_arguments(launch) if not isinstance(value, fx.Node)]
    value, meta = member.input.meta["val"], launch.meta
    return (str(launch.target), str(plain), meta.get("fsdp_unit"), meta.get("phase"), value.dtype, value.device, is_wait(member.input))


def _place(member: Member, position: dict[fx.Node, int]) -> int:
    """Where a gathered parameter is read first, or where the gradient was made that is reduced."""
    if kind_of(member.launch) == "all_gather":
        return min((position[user] for user in _readers(member.wait)), default=position[member.wait])
    node: Any = member.input
    while node.meta.get("fsdp_param") == member.fqn:
        node = node.args[0]
    return position[node]


def _readers(wait: fx.Node) -> Iterator[fx.Node]:
    """What reads a gathered parameter, through the views that FSDPPass makes of it."""
    for user in wait.users:
        if user.meta.get("fsdp_param") is None:
            yield user
        else:
            yield from _readers(user)
