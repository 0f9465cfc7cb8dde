"""Which storages are alive while each node of an eager run executes.

Torch's own trackers (``torch._inductor.fx_passes.memory_estimator``, torch 2.9 and later) answer a neighbouring question, for another
order of nodes on a GPU. On a graph with neither frees nor collectives, all of whose results are read, this one says the same, and a
test holds the two together. It differs where theirs is not what an eager run does: ``resize_storage_bytes_`` gives memory back; a wait
returns the memory that it waited for, though its traced value has a storage of its own; what a collective reads is held until its wait;
a result that nobody reads is released at once; outputs stay; the CPU counts; sizes without a hint are unknown. What lies in host memory
because ``ao::offload`` put it there does not count, and what it was copied from is given back at the wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torch import fx

from hyperviz.analysis.storages import Storages
from hyperviz.graph.collectives import kind_of, launch_of
from hyperviz.graph.kinds import is_wait, operator_name
from hyperviz.graph.transfers import freed_by
from hyperviz.graph.values import hinted

_COPIES_ITS_INPUT = frozenset({"all_reduce", "all_reduce_coalesced", "broadcast"})
FREE = ("inductor", "resize_storage_bytes_")


@dataclass(frozen=True, slots=True)
class Moment:
    """How many bytes are alive while one block of nodes runs; None where a size is not known.

    Attributes:
        most: at the block's fullest moment, if each of its values is materialised.
        least: the larger of what was alive before it and what is alive behind it.
        position: of the node at the fullest moment, in the flat order.
    """

    most: int | None
    least: int | None
    position: int


@dataclass(slots=True)
class Life:
    """When storages come and go, in positions of a flat order of nodes.

    Attributes:
        first: storage → position of the node that allocates it; storages of inputs are not in it.
        last: storage → position of the last node that needs it; the number of nodes for what outlives the run.
        held: storages that belong to the caller: inputs and constants.
    """

    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)


def life_of(order: Sequence[fx.Node], outer: Iterable[fx.Node], storages: Storages) -> Life:
    """When each storage is needed.

    Args:
        order: the calls, in the order in which they run.
        outer: the other nodes: placeholders, constants, the output.
        storages: of all of them.
    """
    life, position = Life(), {node: index for index, node in enumerate(order)}
    returned: list[int] = []
    for node in outer:
        if node.op == "output":
            returned += [number for argument in node.all_input_nodes for number in storages.of(argument)]
        else:
            life.held.update(storages.of(node))
    for node in order:
        needed = [*storages.of(node), *(number for argument in node.all_input_nodes for number in storages.of(argument))]
        if is_wait(node) and (launch := launch_of(node)) is not None:
            needed += _carried(launch, storages)
        for number in needed:
            life.last[number] = position[node]
        for number in storages.of(node):
            if number not in life.held:
                life.first.setdefault(number, position[node])
    waited = {launch_of(node) for node in order if is_wait(node)}
    for node in order:
        if kind_of(node) and node not in waited and operator_name(node.target)[0] == "_c10d_functional":
            returned += _carried(node, storages)  # torch keeps what is in flight until somebody waits
    life.last.update(dict.fromkeys(returned, len(order)))
    return life


def _carried(launch: fx.Node, storages: Storages) -> list[int]:
    """What torch holds while a launch is in flight: results and, unless it copies them first, inputs."""
    copied = operator_name(launch.target)[1] in _COPIES_ITS_INPUT
    return [number for node in (launch, *(() if copied else launch.all_input_nodes)) for number in storages.of(node)]


def moments(blocks: Sequence[Sequence[fx.Node]], storages: Storages, life: Life) -> list[Moment]:
    """How much is alive while each block runs, under the two extremes of what its inside may hold.

    A block of one node has no inside, and both are the same. What a block reads, and nothing reads later, may be released inside it, or be
    held until it ends; what its values need lies between nothing (all of it fused away) and what an eager run of its nodes holds.
    """
    walk, start, found = _Walk(storages, life), 0, []
    for block in blocks:
        found.append(walk.block(block, start))
        start += len(block)
    return found


def alive_at(position: int, blocks: Sequence[Sequence[fx.Node]], storages: Storages, life: Life) -> dict[int, int | None]:
    """The storages alive while the node at a position of the flat order runs, with their bytes."""
    walk, start = _Walk(storages, life), 0
    for block in blocks:
        if position < start + len(block):
            walk.block(block[: position - start + 1], start, leave=False)
            break
        walk.block(block, start)
        start += len(block)
    return walk.alive


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _resized(node: fx.Node) -> tuple[fx.Node, int | None] | None:
    """The value whose storage a node gives another size, and that size; None for a node that does no such thing."""
    if (kept := freed_by(node)) is not None:
        return kept, 0
    if node.op == "call_function" and operator_name(node.target) == FREE and node.all_input_nodes:
        return node.all_input_nodes[0], hinted(node.args[1]) if len(node.args) > 1 else None
    return None


class _Walk:
    """Goes through the blocks in order, and keeps what is alive."""

    def __init__(self, storages: Storages, life: Life) -> None:
        self.storages, self.life = storages, life
        self.alive: dict[int, int | None] = {}
        self.known = self.unknown = 0
        self.ending: dict[int, list[int]] = {}
        for number, position in life.last.items():
            if number not in life.held:
                self.ending.setdefault(position, []).append(number)

    def block(self, block: Sequence[fx.Node], start: int, leave: bool = True) -> Moment:
        """Run one block; ``leave`` tells whether what it no longer needs goes."""
        end, fullest = start + len(block) - 1, Moment(-1, 0, start)
        before = None if self.unknown else self.known
        for position, node in enumerate(block, start):
            fullest = self._fuller(fullest, position)  # before a free
            self._resize(node)
            for number in self.storages.of(node):
                if self.life.first.get(number) == position:
                    self._hold(number, self.storages.num_bytes(number))
            fullest = self._fuller(fullest, position)
            if position < end:
                self._end([number for number in self.ending.get(position, ()) if self.life.first[number] >= start])
        least = fullest.most if len(block) == 1 else _larger(before, self._left(end))
        if leave:
            for position in range(start, end + 1):
                self._end(self.ending.get(position, ()))
        return Moment(fullest.most, least, fullest.position)

    def _fuller(self, fullest: Moment, position: int) -> Moment:
        if fullest.most is None or (not self.unknown and self.known <= fullest.most):
            return fullest
        return Moment(None if self.unknown else self.known, 0, position)

    def _left(self, end: int) -> int | None:
        """What is alive behind a block."""
        sizes = [size for number, size in self.alive.items() if number in self.life.held or self.life.last[number] > end]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def _resize(self, node: fx.Node) -> None:
        if (resized := _resized(node)) is None:
            return
        target, size = resized
        for number in self.storages.of(target):
            full = self.storages.num_bytes(number) if number in self.life.held else 0
            self._end([number])
            # The caller's memory is not counted: what it gives back lowers what the run holds.
            self._hold(number, None if size is None or full is None else size - full)

    def _hold(self, number: int, size: int | None) -> None:
        self.alive[number] = size
        self.known += size or 0
        self.unknown += size is None

    def _end(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number in self.alive:
                size = self.alive.pop(number)
                self.known -= size or 0
                self.unknown -= size is None
