"""Where everything that moves goes, such that sorting by place breaks no order that must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from torch import fx

from hyperviz.analysis.hazards import Hazards
from hyperviz.passes.overlap.transfers import Transfer

# A position in the graph as it was, and where around the node that stands there: issued before it, waited for before it, it, behind it.
Place = tuple[int, int]
Key = tuple[int, int, int]  # and where it stood
ISSUE, WAIT, AT, BEHIND, LAST = -2, -1, 0, 1, 2


@dataclass(slots=True)
class Places:
    """The places of transfers: each front's is the earliest it moves to, each back's the latest.

    A front moves only towards the start and a back only towards the end. A back's place is in front of every node that must stay
    behind it, where that node stood; a front's is behind every node that must stay before it, where that node ends up. What is in
    neither keeps its order. So every pair that must stay in order does; ``tests`` check it on random graphs. Second steps, which sum
    over replicas what another reduction returns, are issued later, as backs are, so that there is compute between the two.

    Attributes:
        position: node → where it stood.
        transfers: what moves.
        fronts: the place of each transfer's front.
        backs: the place of each transfer's back.
        late: second step → the reduction whose result it reduces.
        limits: what a limit on bytes kept from moving further, a sentence each.
        held_back: transfer → why it is waited for before its first use.
        behind: transfer → the name of the one behind whose wait it is issued, so that there is room.
    """

    position: dict[fx.Node, int]
    transfers: Sequence[Transfer]
    fronts: list[Place] = field(default_factory=list)
    backs: list[Place] = field(default_factory=list)
    late: dict[int, int] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)
    held_back: dict[int, str] = field(default_factory=dict)
    behind: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: fx.Graph, transfers: Sequence[Transfer], hazards: Hazards, ahead: int, limit: int | None) -> Places:
        """The places of all transfers of a graph.

        Args:
            graph: only read.
            transfers: of the graph.
            hazards: of the graph.
            ahead: how many gathers lie between where one is issued and where it is waited for.
            limit: how many bytes gathers may hold before they are used; None for no limit.
        """
        places = cls({node: index for index, node in enumerate(graph.nodes)}, transfers)
        places.backs = [places._latest(transfer.back, hazards) for transfer in transfers]
        ends = {
            node: max(back, (places.position[node], AT)) for one, back in zip(transfers, places.backs, strict=True) for node in one.back
        }
        start = (max((i for node, i in places.position.items() if node.op in ("placeholder", "get_attr")), default=-1), BEHIND)
        places.fronts = [max(start, places._earliest(transfer, hazards, ends, start)) for transfer in transfers]
        places._issue_gathers(ahead, limit)
        places._delay_second_steps(hazards)
        return places

    def front(self, index: int) -> Place:
        """Where the first launch of a transfer, and what leads up to it, ends up."""
        stood = (self.position[self.transfers[index].front[0]], AT)
        return max(self.fronts[index], stood) if index in self.late else min(self.fronts[index], stood)

    def back(self, index: int) -> Place:
        """Where the first wait of a transfer ends up."""
        return max(self.backs[index], (self.position[self.transfers[index].waits[0]], AT))

    def start(self, index: int) -> Key:
        """What the first node of a front is sorted by."""
        return (*self.front(index), self.position[self.transfers[index].front[0]])

    def stop(self, index: int) -> Key:
        """What the first wait of a back is sorted by."""
        return (*self.back(index), self.position[self.transfers[index].waits[0]])

    def wait_by(self, index: int, place: Key) -> bool:
        """Moves a back in front of a place, if it can be; returns whether it is."""
        before = self.backs[index]
        self.backs[index] = min(before, place[:2])
        if self.stop(index) < place:
            return True
        self.backs[index] = before
        return False

    def issue_behind(self, index: int, other: int) -> bool:
        """Issues a transfer no earlier than where the wait of another stood, if that was in front of it; returns whether it was."""
        wait = (self.position[self.transfers[other].waits[0]], BEHIND)
        if index in self.late or not self.front(index) < wait < (self.position[self.transfers[index].front[0]], AT):
            return False
        self.fronts[index], self.backs[other] = wait, (wait[0], AT)
        self.behind[index] = self.transfers[other].name
        return True

    def keys(self) -> dict[fx.Node, Key]:
        """Node → what to sort it by, for all nodes of the graph."""
        keys: dict[fx.Node, Place] = {node: (index, AT) for node, index in self.position.items()}
        for index, (transfer, front, back) in enumerate(zip(self.transfers, self.fronts, self.backs, strict=True)):
            nearer = max if index in self.late else min
            keys.update({node: nearer(front, keys[node]) for node in transfer.front})
            keys.update({node: max(back, keys[node]) for node in transfer.back})
        return {node: (*place, self.position[node]) for node, place in keys.items()}

    def _latest(self, nodes: Sequence[fx.Node], hazards: Hazards, beside: Sequence[fx.Node] = ()) -> Place:
        """In front of everything that must stay behind the nodes, but for themselves and what is placed beside them."""
        own = {*nodes, *beside}
        behind = (self.position[other] for node in nodes for other in hazards.successors(node) if other not in own)
        return (min(behind, default=len(self.position)), WAIT)

    def _earliest(self, transfer: Transfer, hazards: Hazards, backs: Mapping[fx.Node, Place], start: Place) -> Place:
        own = set(transfer.front)
        before = {other for node in transfer.front for other in hazards.predecessors(node) if other not in own}
        return max((backs.get(node, (self.position[node], BEHIND)) for node in before), default=start)

    def _issue_gathers(self, ahead: int, limit: int | None) -> None:
        """Moves each gather up to the wait of the one that is ``ahead`` before it, or as near to that as the limit allows."""
        order = sorted((i for i, one in enumerate(self.transfers) if one.is_gather), key=lambda i: (self.back(i), i))
        waits = [self.back(i) for i in order]
        held = list(accumulate((self.transfers[i].num_bytes for i in order), initial=0))
        for rank, index in enumerate(order):
            wanted = allowed = max(rank - ahead, 0)
            while limit is not None and allowed < rank and held[rank + 1] - held[allowed] > limit:
                allowed += 1
            if allowed > wanted:
                would = f"{held[rank + 1] - held[allowed - 1]:,} bytes would be in flight, and max_bytes_in_flight is {limit:,}"
                self.limits.append(f"{self.transfers[index].name} is issued {rank - allowed} ahead, not {rank - wanted}: {would}")
            # Where nothing is to be issued ahead, the launch stays where it stands.
            place = (waits[allowed][0], ISSUE) if ahead else (len(self.position), AT)
            self.fronts[index] = max(self.fronts[index], place)

    def _delay_second_steps(self, hazards: Hazards) -> None:
        """Issues the second step of a reduction behind the launch of the next one, and waits for the first step only then."""
        self.late = dict(self._second_steps(hazards))
        following: dict[int, Place] = {}
        place = len(self.position), WAIT
        for index, transfer in reversed(list(enumerate(self.transfers))):
            following[index] = place
            if index not in self.late and not transfer.is_gather:
                place = min(self.fronts[index], (self.position[transfer.front[-1]], AT))[0], LAST
        for index, first in self.late.items():
            front, back = self.transfers[index].front, self.transfers[index].back
            anchor, tier = min(following[first], self._latest(front, hazards, back), self.backs[index])
            self.fronts[index] = anchor, ISSUE if tier == WAIT else tier
            self.backs[first] = min(self._latest(self.transfers[first].back, hazards, (*front, *back)), self.fronts[index])

    def _second_steps(self, hazards: Hazards) -> Iterator[tuple[int, int]]:
        """Each collective that reads nothing but the result of a reduction which no other collective reads, with that reduction."""
        back_of = {node: index for index, one in enumerate(self.transfers) for node in one.back}
        front_of = {node: index for index, one in enumerate(self.transfers) for node in one.front}
        for index, transfer in enumerate(self.transfers):
            own = set(transfer.front)
            sources = {back_of.get(node, index) for one in transfer.front for node in one.all_input_nodes if node not in own}
            if transfer.is_gather or len(sources) != 1 or index in sources or self.transfers[first := sources.pop()].is_gather:
                continue
            readers = {front_of.get(node, index) for one in self.transfers[first].back for node in hazards.successors(one)}
            if readers == {index}:
                yield index, first
