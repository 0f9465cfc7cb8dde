"""Chains of orders that must hold: what leads from one call to another, and what forbids that two regions are one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from torch import fx

from hyperviz.analysis.hazards import hazards_of, is_fence
from hyperviz.graph.kinds import is_random
from hyperviz.snapshot import Tie

Step = tuple[fx.Node, str]
"""A call that must stay behind another, and the kind of the tie between them."""
_State = tuple[fx.Node, bool]
"""A call, and whether a chain that leads to it has been through an eager one."""


class Ties:
    """The orders of a graph, with what kind each is of; see ``Hazards``. Linear in the size of the graph."""

    def __init__(self, graph: fx.Graph, *, data_only: bool = False) -> None:
        """Reads a graph.

        Args:
            graph: only read.
            data_only: whether memory and effects are left out, as torch's own grouping leaves them out.
        """
        self._data_only = data_only
        self._hazards = hazards_of(graph)
        draws = [node for node in graph.nodes if is_random(node)]
        self._next_draw = dict(pairwise(draws))

    def behind(self, node: fx.Node) -> Iterator[Step]:
        """Every call that must stay behind a call."""
        for user in node.users:
            yield user, "data"
        if self._data_only:
            return
        for other in self._hazards.behind.get(node, ()):
            yield other, "effect" if is_fence(node) or is_fence(other) else "memory"
        if node in self._next_draw:  # one generator: who draws first gets the first numbers
            yield self._next_draw[node], "effect"

    def chain(self, starts: Iterable[fx.Node], ends: Collection[fx.Node], through: Collection[fx.Node]) -> tuple[Tie, ...]:
        """The shortest chain from one of the starts to one of the ends by way of some calls; empty where there is none."""
        origin: dict[fx.Node, tuple[fx.Node, str] | None] = dict.fromkeys(starts)
        queue = deque(origin)
        while queue:
            node = queue.popleft()
            for other, kind in self.behind(node):
                if other in ends:
                    return (*_walk(node, origin.__getitem__, lambda one: one), Tie(node.name, other.name, kind))
                if other in through and other not in origin:
                    origin[other] = (node, kind)
                    queue.append(other)
        return ()

    def forbidding(
        self, first: Collection[fx.Node], second: Collection[fx.Node], groups: Sequence[Sequence[fx.Node]], eager: Mapping[fx.Node, str]
    ) -> tuple[Tie, ...]:
        """The shortest chain from one region to another that leads through an eager call, which then fits on neither side; or none.

        What leads into a third region leads out of all of it, since its members run as one.
        """
        mates = {node: group for group in groups for node in group}
        first, second = set(first), set(second)
        origin: dict[_State, tuple[_State, str] | None] = {(node, False): None for node in first}
        queue: deque[_State] = deque(origin)
        while queue:
            node, passed = queue.popleft()
            together = ((mate, "region") for mate in mates.get(node, ()) if node not in first and mate is not node)
            for other, kind in (*self.behind(node), *together):
                state = other, passed or other in eager
                if other in second and passed:
                    return (*_walk((node, passed), origin.__getitem__, lambda one: one[0]), Tie(node.name, other.name, kind))
                if other not in first and other not in second and state not in origin:
                    origin[state] = ((node, passed), kind)
                    queue.append(state)
        return ()


def _walk(last, origin: Callable, node_of: Callable) -> Iterator[Tie]:
    """The ties that led to a place, first one first."""
    ties: list[Tie] = []
    while (came := origin(last)) is not None:
        before, kind = came
        ties.append(Tie(node_of(before).name, node_of(last).name, kind))
        last = before
    return reversed(ties)
