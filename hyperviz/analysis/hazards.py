"""What must stay in order besides data: memory that is written or freed, collectives under way, and effects nobody can see into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch import fx

from hyperviz.analysis.memory import Memory, written
from hyperviz.analysis.roles import classify
from hyperviz.graph.collectives import kind_of, launch_of
from hyperviz.graph.kinds import is_call, is_point_to_point, is_wait, operator_name

_CHECKS = ("_assert", "sym_constrain_range")


class Hazards:
    """The nodes that must come before, and behind, each node of a graph.

    - A node that reads, views or writes memory stays behind the last write to it, and a write behind everything that touched it.
    - From launch to wait, a collective reads its inputs and fills its result: the wait counts as reading the ones and writing the other.
    - Sends, receives, barriers, and calls that nobody can see into keep their places among all others: nothing in ``movable``
      crosses one.

    Attributes:
        before: node → nodes that it must stay behind, data left out.
        behind: the same pairs, the other way round.
    """

    def __init__(self, graph: fx.Graph, memory: Memory, launches: dict[fx.Node, fx.Node], movable: Iterable[fx.Node]) -> None:
        """Linear in the size of the graph.

        Args:
            graph: only read.
            memory: of the graph.
            launches: wait → its launch.
            movable: what may change its place.
        """
        self.before: dict[fx.Node, list[fx.Node]] = {}
        self.behind: dict[fx.Node, list[fx.Node]] = {}
        self._order_memory(graph, memory, launches)
        self._order_fences(graph, set(movable))

    def predecessors(self, node: fx.Node) -> Iterator[fx.Node]:
        """All nodes that it must stay behind, data included."""
        yield from node.all_input_nodes
        yield from self.before.get(node, ())

    def successors(self, node: fx.Node) -> Iterator[fx.Node]:
        """All nodes that must stay behind it, data included."""
        yield from node.users
        yield from self.behind.get(node, ())

    def _add(self, first: fx.Node, second: fx.Node) -> None:
        if first is not second:
            self.before.setdefault(second, []).append(first)
            self.behind.setdefault(first, []).append(second)

    def _order_memory(self, graph: fx.Graph, memory: Memory, launches: dict[fx.Node, fx.Node]) -> None:
        writer: dict[fx.Node, fx.Node] = {}
        readers: dict[fx.Node, list[fx.Node]] = {}
        for node in graph.nodes:
            writes, reads = _accesses(node, memory, launches)
            for root in writes | reads:
                if root in writer:
                    self._add(writer[root], node)
                if root in writes:
                    for reader in readers.pop(root, ()):
                        self._add(reader, node)
                    writer[root] = node
                else:
                    readers.setdefault(root, []).append(node)

    def _order_fences(self, graph: fx.Graph, movable: set[fx.Node]) -> None:
        fence: fx.Node | None = None
        since: list[fx.Node] = []
        for node in graph.nodes:
            if node in movable:
                if fence is not None:
                    self._add(fence, node)
                since.append(node)
            elif is_fence(node):
                for moving in since:
                    self._add(moving, node)
                fence, since = node, []


def hazards_of(graph: fx.Graph) -> Hazards:
    """The orders that a move of anything must keep; what has an effect that nobody can see into never moves."""
    launches = {node: launch for node in graph.nodes if is_wait(node) and (launch := launch_of(node)) is not None}
    return Hazards(graph, Memory(graph), launches, (node for node in graph.nodes if not is_fence(node)))


def is_fence(node: fx.Node) -> bool:
    """Whether a node has an effect of which neither data nor memory says what it concerns."""
    if not is_call(node):
        return False
    if is_point_to_point(node) or kind_of(node) in ("send", "recv", "send_recv", "barrier"):
        return True
    if operator_name(node.target)[1].startswith(_CHECKS):
        return False
    return bool(classify(node).full) and classify(node).role in ("effect", "eager") and not written(node)


def _accesses(node: fx.Node, memory: Memory, launches: dict[fx.Node, fx.Node]) -> tuple[set[fx.Node], set[fx.Node]]:
    writes = {memory.of(value) for value in written(node)}
    reads = {memory.of(value) for value in (node, *node.all_input_nodes)}
    if node in launches:
        writes.add(memory.of(node))
        reads.update(memory.of(value) for value in launches[node].all_input_nodes)
    return writes, reads - writes
