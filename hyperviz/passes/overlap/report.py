"""What moved: found by comparing the order before and after."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence

from torch import fx

from hyperviz.passes.overlap.places import AT, LAST, Place, Places
from hyperviz.passes.overlap.plan import Move, Overlap


def describe(places: Places, order: Sequence[fx.Node], most_bytes: int, limit: int | None) -> Overlap:
    """The moves that make an order of the one that ``places`` was made for.

    A front moved if it passed a node that keeps its place, or a wait; a back moved if it passed a node that keeps its place, or a
    front that does.
    """
    fronts, backs = _moving(places)
    before, now = list(places.position), {node: index for index, node in enumerate(order)}
    waited = {node: backs[node] for node in _passed(before, order, {**fronts, **backs}) if node in backs}
    issued = {node: fronts[node] for node in _passed(before, order, {**fronts, **waited}) if node in fronts}
    waits = sorted(places.back(index) for index, transfer in enumerate(places.transfers) if transfer.is_gather)
    reasons = {node: _issued(places, index, waits) for node, index in issued.items()}
    for node, index in waited.items():
        is_front = node in places.transfers[index].front
        reasons[node] = _delayed(places, index) if is_front else _waited(places, index, before)
    gathers = [places.transfers[index].is_gather for index in {*issued.values()}]
    return Overlap(
        moves=tuple(Move(node.name, places.position[node], now[node], reasons[node]) for node in order if node in reasons),
        num_gathers=sum(gathers),
        num_reductions=len(gathers) - sum(gathers),
        num_waits=len({*waited.values()}),
        most_bytes_in_flight=most_bytes,
        limits=(*places.limits, *_held_back(places), *_exceeded(most_bytes, limit)),
    )


def _moving(places: Places) -> tuple[dict[fx.Node, int], dict[fx.Node, int]]:
    """The nodes of fronts and backs that have another place than they had → their transfer."""
    fronts: dict[fx.Node, int] = {}
    backs: dict[fx.Node, int] = {}
    for index, transfer in enumerate(places.transfers):
        stood = {node: (places.position[node], AT) for node in transfer.front}
        if index in places.late:
            backs.update((node, index) for node, place in stood.items() if places.fronts[index] > place)
        else:
            fronts.update((node, index) for node, place in stood.items() if places.fronts[index] < place)
        backs.update((node, index) for node in transfer.back if places.backs[index] > (places.position[node], AT))
    return fronts, backs


def _passed(before: Sequence[fx.Node], after: Sequence[fx.Node], moving: Container[fx.Node]) -> set[fx.Node]:
    """The moving nodes that have more or fewer of the others in front of them than before."""
    counts = [dict(_count(nodes, moving)) for nodes in (before, after)]
    return {node for node in before if node in moving and counts[0][node] != counts[1][node]}


def _count(nodes: Iterable[fx.Node], moving: Container[fx.Node]) -> Iterator[tuple[fx.Node, int]]:
    standing = 0
    for node in nodes:
        standing += node not in moving
        yield node, standing


def _issued(places: Places, index: int, waits: Sequence[Place]) -> str:
    name = places.transfers[index].name
    if index in places.behind:
        return f"{name} is issued behind the wait for {places.behind[index]}"
    if not places.transfers[index].is_gather:
        return f"{name} is issued as soon as its inputs exist"
    ahead = bisect_left(waits, places.back(index)) - bisect_left(waits, places.front(index))
    return f"{name} is issued {ahead} bucket{'' if ahead == 1 else 's'} ahead"


def _delayed(places: Places, index: int) -> str:
    first = places.transfers[places.late[index]].name
    return f"{places.transfers[index].name} is issued later, so that there is compute between it and {first}"


def _waited(places: Places, index: int, before: Sequence[fx.Node]) -> str:
    transfer = places.transfers[index]
    if index in places.held_back:
        return f"{transfer.name} is waited for {places.held_back[index]}"
    if index in places.late.values() and places.backs[index][1] == LAST:
        return f"{transfer.name} is waited for when the next reduction is issued"
    first = before[places.backs[index][0]]
    return f"{transfer.name} is waited for {'at the end' if first.op == 'output' else f'where it is needed first, before {first.name}'}"


def _held_back(places: Places) -> Iterator[str]:
    for index, reason in places.held_back.items():
        yield f"{places.transfers[index].name} is waited for before the end: max_bytes_in_flight asks {reason}"
    for index, other in places.behind.items():
        yield f"{places.transfers[index].name} is issued behind the wait for {other}: max_bytes_in_flight asks for room"


def _exceeded(most_bytes: int, limit: int | None) -> Iterator[str]:
    if limit is not None and most_bytes > limit:
        yield f"{most_bytes:,} bytes are in flight at once all the same: nothing is issued later than where it stood"
