"""What moves together: the collectives of one bucket, with what leads up to their launch and what takes their results apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import fx

from hyperviz.analysis import Memory
from hyperviz.graph.collectives import find_collectives
from hyperviz.graph.kinds import is_communication, is_getitem, is_view, operator_name
from hyperviz.passes.fsdp.gathers import FREE
from hyperviz.snapshot import Collective

_BUFFERS = (("aten", "empty"), ("aten", "new_empty"))
_NOT_MOVED = ("send", "recv", "send_recv", "barrier")


@dataclass(frozen=True, slots=True)
class Transfer:
    """Collectives that are issued, and waited for, together.

    Attributes:
        name: of their bucket, module, or only launch.
        is_gather: whether they gather what the step is given, and so can be issued ahead of need; the others carry what was computed.
        front: what leads up to the launches, and the launches, in execution order.
        back: the waits, and what takes their results apart, in execution order.
        waits: those of ``back`` that are waits.
        num_bytes: that they hold between launch and wait; 0 where a size is not known.
    """

    name: str
    is_gather: bool
    front: tuple[fx.Node, ...]
    back: tuple[fx.Node, ...]
    waits: tuple[fx.Node, ...]
    num_bytes: int


def find_transfers(graph: fx.Graph, memory: Memory) -> list[Transfer]:
    """Every transfer of a graph that has a launch and a wait to move, in the order of launches.

    What shares ``meta["bucket"]`` moves together; where there are no buckets, the gathers of one module do; every other collective
    moves by itself. What leads up to a launch comes with it if only the launch needs it, and is of its bucket, its buffer, or a view
    or cast on the way to a gather; of what follows a wait, views come with it, and what is of its bucket and reads nothing else.
    """
    nodes = {node.name: node for node in graph.nodes}
    position = {node: index for index, node in enumerate(graph.nodes)}
    groups: dict[object, list[Collective]] = {}
    for collective in find_collectives(graph):
        if collective.waits and collective.launch not in collective.waits and collective.kind not in _NOT_MOVED:
            groups.setdefault(_key(collective, nodes[collective.launch]), []).append(collective)
    taken: set[fx.Node] = set()
    found = []
    for group in groups.values():
        waits = sorted((nodes[name] for one in group for name in one.waits), key=position.__getitem__)
        back = _follow(waits, memory)
        taken.update(back)
        found.append((group, waits, back))
    return [_transfer(group, nodes, waits, back, taken, position) for group, waits, back in found]


def _transfer(
    group: list[Collective],
    nodes: dict[str, fx.Node],
    waits: list[fx.Node],
    back: set[fx.Node],
    taken: set[fx.Node],
    position: dict[fx.Node, int],
) -> Transfer:
    launches = [nodes[one.launch] for one in group]
    front = _lead_up(launches, group[0].kind == "all_gather", taken)
    inputs = {source.op for node in front for source in node.all_input_nodes if source not in front}
    return Transfer(
        name=_name(group[0], launches[0]),
        is_gather=group[0].kind == "all_gather" and inputs <= {"placeholder", "get_attr"},
        front=tuple(sorted(front, key=position.__getitem__)),
        back=tuple(sorted(back, key=position.__getitem__)),
        waits=tuple(waits),
        num_bytes=sum(one.payload_bytes or 0 for one in group),
    )


def _key(collective: Collective, launch: fx.Node) -> object:
    if collective.bucket:
        return collective.bucket
    if collective.kind == "all_gather" and "fsdp_unit" in launch.meta:
        return launch.meta["fsdp_unit"], launch.meta.get("phase")
    return launch


def _name(collective: Collective, launch: fx.Node) -> str:
    meta = launch.meta
    if collective.bucket or "fsdp_unit" not in meta:
        return collective.bucket or launch.name
    if collective.kind == "all_gather":
        return f"{meta['fsdp_unit'] or 'model'} gather ({meta.get('phase') or 'forward'})"
    return f"{launch.name} of {meta.get('fsdp_param')}"


def _lead_up(launches: Iterable[fx.Node], is_gather: bool, taken: set[fx.Node]) -> set[fx.Node]:
    """The launches, what is made for them alone, and what takes single results out of them."""
    found = set(launches)
    waiting = list(found)
    found.update(user for launch in waiting for user in launch.users if is_getitem(user))
    while waiting:
        node = waiting.pop()
        for source in node.all_input_nodes:
            if source not in found and source not in taken and found.issuperset(source.users) and _is_made_for(source, node, is_gather):
                found.add(source)
                waiting.append(source)
    return found


def _is_made_for(node: fx.Node, reader: fx.Node, is_gather: bool) -> bool:
    if node.op != "call_function" or is_communication(node):
        return False
    if operator_name(node.target) in _BUFFERS or node.meta.get("bucket"):
        return node.meta.get("bucket") == reader.meta.get("bucket")
    if node.meta.get("fsdp_param") is not None:
        return node.meta["fsdp_param"] == reader.meta.get("fsdp_param")
    return is_gather and (is_view(node) or node.target is torch.ops.aten._to_copy.default)


def _follow(waits: Iterable[fx.Node], memory: Memory) -> set[fx.Node]:
    """The waits, and what reads nothing but them and takes their results apart."""
    found = set(waits)
    waiting = [(user, wait) for wait in found for user in wait.users]
    frees = []
    while waiting:
        node, source = waiting.pop()
        if node in found or node.op != "call_function" or is_communication(node):
            continue
        if node.target is FREE:
            frees.append(node)
        elif found.issuperset(node.all_input_nodes) and (is_view(node) or is_getitem(node) or _is_of_bucket(node, source)):
            found.add(node)
            waiting += [(user, node) for user in node.users]
    found.update(free for free in frees if _frees_only(free, found, memory))
    return found


def _is_of_bucket(node: fx.Node, source: fx.Node) -> bool:
    return bool(node.meta.get("bucket")) and node.meta["bucket"] == source.meta.get("bucket")


def _frees_only(free: fx.Node, found: set[fx.Node], memory: Memory) -> bool:
    """Whether nothing but what takes results apart reads the memory that is freed."""
    wait = min(found)
    return all(node in found or node is free or node < wait for node in memory.touching(free.all_input_nodes[0]))
