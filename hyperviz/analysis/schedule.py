"""The schedule of a graph as it is, under a plan, or compiled: what runs when, how much it moves, and how much memory is alive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from torch import fx

from hyperviz.analysis.kernels import Work
from hyperviz.analysis.liveness import Life, Moment, alive_at, life_of, moments
from hyperviz.analysis.regions import Regions
from hyperviz.analysis.storages import Storages
from hyperviz.graph.collectives import find_collectives
from hyperviz.graph.handing import hand_over
from hyperviz.graph.kinds import attribute, is_allocation, is_call, is_communication, is_getitem, is_view, is_wait, is_work
from hyperviz.graph.transfers import find_transfers, is_transfer_wait, transfer_kind
from hyperviz.graph.values import tensors_of
from hyperviz.snapshot import Collective, LiveValue, Schedule, Step


def schedule_of(
    graph_module: fx.GraphModule, regions: Regions | None = None, *, group_sizes: Mapping[str, int] | None = None, cut: bool = True
) -> Schedule:
    """What runs when, as one rank sees it. Edits nothing; linear in the size of the graph but for sorting.

    Each call is a step, and so is each region: of ``regions`` where a plan is looked at, and of every submodule that shows its own graph
    as ``graph_module``, as the regions of a compiled graph do. What a region needs inside depends on what is fused, so its memory is
    told as two numbers (``Step.live_bytes``, ``Step.least_bytes``). Communication inside a region stands where the graph has it: its
    compiler may move it.

    Sizes come from fake values; a symbolic one counts by its hint, and what has no hint is None, as is every sum that it is part of.

    Args:
        graph_module: any FX graph.
        regions: what ``hyperviz.analysis.find_regions`` found in this very graph.
        group_sizes: name → number of ranks of process groups that are not up.
        cut: whether a region that holds communication is cut there; else it is one step, and what it communicates is not seen.
    """
    blocks = _blocks(graph_module, regions, cut)
    run = _Run.of(graph_module, blocks)
    steps = tuple(map(run.step, range(len(blocks))))
    graphs = [graph_module.graph, *dict.fromkeys(block.nodes[0].graph for block in blocks if block.call is not None)]
    collectives = _collectives(graphs, steps, blocks, group_sizes)
    return Schedule(
        steps,
        collectives,
        _sum(run.storages.num_bytes(number) for number in run.life.held),
        *run.peak(),
        notes=tuple(_notes(collectives, blocks)),
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """Nodes that run together: one, a region, or a piece of one.

    Attributes:
        name: the node's or the region's.
        nodes: in execution order.
        region: whether it is a region's.
        call: in a compiled graph, the node that calls the region.
    """

    name: str
    nodes: tuple[fx.Node, ...]
    region: bool = False
    call: fx.Node | None = None

    @property
    def alive(self) -> tuple[fx.Node, ...]:
        """What holds memory while the block runs: its nodes, and the call that returns what they leave."""
        return self.nodes if self.call is None else (*self.nodes, self.call)


def _blocks(graph_module: fx.GraphModule, regions: Regions | None, cut: bool) -> list[_Block]:
    last = {group[-1]: (f"region_{index}", group) for index, group in enumerate(regions.groups)} if regions else {}
    inside = {node for _, group in last.values() for node in group}
    blocks: list[_Block] = []
    for node in regions.order if regions else graph_module.graph.nodes:
        if node in last:
            blocks += _pieces(*last[node], cut)
        elif node in inside or not is_call(node) or node.target is hand_over:
            continue
        elif inner := _inner_graph(node, graph_module):
            *pieces, final = _pieces(node.name, inner.nodes, cut)
            blocks += [*pieces, replace(final, call=node)]
        else:
            blocks.append(_Block(node.name, (node,)))
    return blocks


def _pieces(name: str, nodes: Iterable[fx.Node], cut: bool) -> list[_Block]:
    """A region, whole or cut where it communicates."""
    calls = tuple(filter(is_call, nodes))  # groupby asks an iterator again after its end, and that of a graph then starts anew
    if not cut:
        return [_Block(name, calls, True)]
    pieces: list[_Block] = []
    for communicates, run in groupby(calls, is_communication):
        members = tuple(run)
        pieces += [_Block(node.name, (node,), True) for node in members] if communicates else [_Block(name, members, True)]
    return pieces


def _inner_graph(node: fx.Node, graph_module: fx.GraphModule) -> fx.Graph | None:
    module = attribute(graph_module, str(node.target)) if node.op == "call_module" else None
    inner = getattr(module, "graph_module", None)
    return inner.graph if isinstance(inner, fx.GraphModule) else None


@dataclass(slots=True)
class _Run:
    """The blocks with the memory and the work of their nodes."""

    blocks: Sequence[_Block]
    starts: Sequence[int]
    order: Sequence[fx.Node]
    storages: Storages
    life: Life
    work: Work
    lives: Sequence[Moment]

    @classmethod
    def of(cls, graph_module: fx.GraphModule, blocks: Sequence[_Block]) -> _Run:
        order = [node for block in blocks for node in block.alive]
        outer = [node for node in graph_module.graph.nodes if not is_call(node)]
        inner = [node for block in blocks if block.call is not None for node in block.nodes[0].graph.find_nodes(op="placeholder")]
        storages = Storages([*(node for node in outer if node.op != "output"), *inner, *order])
        life = life_of(order, outer, storages)
        starts = [0, *accumulate(len(block.alive) for block in blocks)]
        return cls(blocks, starts, order, storages, life, Work(order, storages, life), moments([b.alive for b in blocks], storages, life))

    def step(self, index: int) -> Step:
        """One block as plain data."""
        block, moment, start, end = self.blocks[index], self.lives[index], self.starts[index], self.starts[index + 1]
        first, last, size = self.life.first, self.life.last, self.storages.num_bytes
        read = {number for node in block.nodes for argument in node.all_input_nodes for number in self.storages.of(argument)}
        made = {number for node in block.nodes for number in self.storages.of(node)}
        return Step(
            name=block.name,
            kind=_kind(block),
            nodes=len(block.nodes),
            work=self.work.of(block.nodes),
            live_bytes=moment.most,
            least_bytes=moment.least,
            bytes_in=_sum(size(number) for number in read if first.get(number, -1) < start),
            bytes_out=_sum(size(number) for number in made if first.get(number, -1) >= start and last[number] >= end),
        )

    def peak(self) -> tuple[int | None, int | None, str, tuple[LiveValue, ...]]:
        """The peak, the least it may be, where it is, and what is alive there."""
        most, least = [moment.most for moment in self.lives], [moment.least for moment in self.lives]
        least_peak = None if None in least else max((size for size in least if size is not None), default=0)
        if None in most or not most:
            return (None if most else 0), least_peak, "", ()
        peak = max(size for size in most if size is not None)
        index = most.index(peak)
        alive = alive_at(self.lives[index].position, [block.alive for block in self.blocks], self.storages, self.life)
        values = [LiveValue(self._maker(number), size) for number, size in alive.items() if size]
        values.sort(key=lambda value: -(value.num_bytes or 0))
        return peak, least_peak, self.blocks[index].name, tuple(values)

    def _maker(self, number: int) -> str:
        if number in self.life.first:
            return self.order[self.life.first[number]].name
        return next(node.name for node in self.order if number in self.storages.of(node))


def _kind(block: _Block) -> str:
    node = block.nodes[0]
    if len(block.nodes) == 1 and _is_apart(node):
        return "wait" if is_wait(node) or is_transfer_wait(node) else "launch"
    if any(map(is_work, block.nodes)):
        return "compute"
    if all(is_view(node) or is_getitem(node) for node in block.nodes):
        return "view"
    return "allocate" if all(is_allocation(node) or is_view(node) or is_getitem(node) for node in block.nodes) else "effect"


def _is_apart(node: fx.Node) -> bool:
    """Whether the node starts or waits for what happens beside compute."""
    return is_communication(node) or bool(transfer_kind(node)) or is_transfer_wait(node)


def _collectives(
    graphs: Iterable[fx.Graph], steps: Sequence[Step], blocks: Sequence[_Block], group_sizes: Mapping[str, int] | None
) -> tuple[Collective, ...]:
    """The collectives and transfers of the graph and of the regions in it, with the steps that compute inside their windows."""
    place = {block.name: index for index, block in enumerate(blocks) if len(block.nodes) == 1 and _is_apart(block.nodes[0])}
    found = []
    for one in (one for graph in graphs for one in (*find_collectives(graph, group_sizes), *find_transfers(graph)) if one.launch in place):
        end = min((place[wait] for wait in one.waits if wait in place), default=len(steps))
        inside = dict.fromkeys(step.name for step in steps[place[one.launch] + 1 : end] if step.kind == "compute")
        found.append(replace(one, compute_inside=tuple(inside)))
    return tuple(sorted(found, key=lambda one: place[one.launch]))


def _notes(collectives: Sequence[Collective], blocks: Sequence[_Block]) -> Iterator[str]:
    for one in collectives:
        if not one.waits:
            yield f"{one.launch} is never waited for: when it ends, and what it hides behind, is not known"
        elif len(one.waits) > 1 and len(set(one.waits)) > _num_results(blocks, one.launch):
            yield f"{one.launch} is waited for more than once, by {', '.join(one.waits)}: the first wait ends its window"
    known = {wait for one in collectives for wait in one.waits}
    for block in blocks:
        if is_wait(block.nodes[0]) and len(block.nodes) == 1 and block.name not in known:
            yield f"{block.name} waits for nothing that this graph launches"
    if any(block.region and any(map(is_communication, block.nodes)) for block in blocks):
        yield "communication inside a region stands where the graph has it: its compiler may move it"


def _num_results(blocks: Sequence[_Block], launch: str) -> int:
    """How many tensors a launch returns."""
    node = next(block.nodes[0] for block in blocks if block.name == launch)
    return len(tensors_of(node.meta.get("val"))) or 1


def _sum(sizes: Iterable[int | None]) -> int | None:
    sizes = list(sizes)
    return None if None in sizes else sum(size for size in sizes if size is not None)
