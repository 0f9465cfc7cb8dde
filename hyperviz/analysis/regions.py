"""Regions: which nodes compile together.

A region is a maximal run of consecutive compilable nodes. Merging by data edges alone, as torch's regional Inductor does with
bare tags, moves compute across the eager nodes between; a run cannot, so the order of everything eager is kept by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from torch import fx

from hyperviz.analysis.memory import Memory, written
from hyperviz.analysis.roles import Placement, classify
from hyperviz.graph.kinds import is_getitem, is_object_attribute, operator_name

TAG = "compile_with_inductor"


@dataclass(slots=True)
class Regions:
    """What would be compiled together.

    Attributes:
        order: every node in the order in which the compiled graph runs them: the graph's own, with each ``getitem`` beside its
            producer, and in full mode with effects moved behind the region where nothing can tell.
        groups: the members of each region, in order.
        placements: node → its placement.
        reasons: node → why it stays eager, for each call in no region.
        notes: sentences about the regions as a whole.
    """

    order: list[fx.Node]
    groups: list[list[fx.Node]]
    placements: dict[fx.Node, Placement]
    reasons: dict[fx.Node, str]
    notes: list[str] = field(default_factory=list)


def find_runs(graph: fx.Graph, *, mode: str, annotated: bool = False, keep_eager: Iterable[str] = ()) -> Regions:
    """The runs of a graph under a mode. Linear in the size of the graph; edits nothing.

    Args:
        graph: an FX graph, with or without fake values.
        mode: ``"off"``, ``"regional"`` or ``"full"``.
        annotated: whether only nodes that carry the tag already are compiled, a run for each id.
        keep_eager: names, targets and module paths, or globs of them, that stay eager.
    """
    keep_eager = tuple(keep_eager)
    order = with_getitems_beside_producers(graph)
    placements = {node: classify(node, keep_eager) for node in order}
    if mode == "off":
        reasons = {node: placements[node].reason or "off: nothing is compiled" for node in order if _is_call(node)}
        return Regions(order, [], placements, reasons)
    reasons = {node: reason for node in order if (reason := _reason(placements[node], mode))}
    key = annotation_key if annotated else _one_key
    if annotated:
        reasons.update({node: "not annotated" for node in order if _is_call(node) and node not in reasons and annotation_key(node) is None})
    notes: list[str] = []
    if mode == "full":
        order, notes = _sink_effects(order, reasons, Memory(graph))
        groups = _runs(order, reasons, key)
        if len(groups) > 1 and not annotated:
            notes.append(f"{len(groups)} regions, not one: effects that nothing may be moved across stand between them")
    else:
        groups = _runs_without_outside_writes(order, reasons, placements, key, graph)
    return Regions(order, [_with_objects(group) for group in groups], placements, reasons, notes)


def with_getitems_beside_producers(graph: fx.Graph) -> list[fx.Node]:
    """The graph's order, with every ``getitem`` moved up to its producer: it belongs to it and has no work of its own."""
    order: list[fx.Node] = []

    def place(node: fx.Node) -> None:
        order.append(node)
        for user in sorted((user for user in node.users if is_getitem(user)), key=position.__getitem__):
            place(user)

    position = {node: index for index, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        if not is_getitem(node):
            place(node)
    return order


def _is_call(node: fx.Node) -> bool:
    return node.op not in ("placeholder", "get_attr", "output")


def _reason(placement: Placement, mode: str) -> str:
    return placement.full if mode == "full" else placement.reason


def _one_key(node: fx.Node) -> Hashable:
    return ()


def annotation_key(node: fx.Node) -> Hashable | None:
    """Equal for nodes that were annotated alike; None for one that was not."""
    tag = (node.meta.get("custom") or {}).get(TAG)
    if tag is None and is_getitem(node) and isinstance(node.args[0], fx.Node):
        return annotation_key(node.args[0])
    if tag is None:
        return None
    tag = tag if isinstance(tag, dict) else {}
    return repr(tag.get("inductor_region")), repr(sorted((tag.get("inductor_configs") or {}).items(), key=repr))


def _runs(order: Sequence[fx.Node], reasons: dict[fx.Node, str], key: Callable[[fx.Node], Hashable]) -> list[list[fx.Node]]:
    """The maximal runs of consecutive calls without a reason to stay eager and with one key; constants break no run."""
    groups: list[list[fx.Node]] = []
    current: Hashable = None
    for node in order:
        if not _is_call(node):
            continue
        if node in reasons:
            current = None
            continue
        if current is None or key(node) != current:
            groups.append([])
            current = key(node)
        groups[-1].append(node)
    return groups


def _runs_without_outside_writes(
    order: list[fx.Node],
    reasons: dict[fx.Node, str],
    placements: dict[fx.Node, Placement],
    key: Callable[[fx.Node], Hashable],
    graph: fx.Graph,
) -> list[list[fx.Node]]:
    """Runs, after every write to memory that is seen outside its run has been made an effect.

    Making one an effect splits its run, which can bring another's memory into view; so this repeats until nothing changes.
    """
    memory: Memory | None = None
    while True:
        groups = _runs(order, reasons, key)
        seen_outside: dict[fx.Node, str] = {}
        for group in groups:
            members = set(group)
            for node in group:
                for target in written(node):
                    memory = memory or Memory(graph)
                    if stranger := next((other for other in memory.touching(target) if other not in members), None):
                        seen_outside[node] = f"writes to the memory of {target.name}, which {stranger.name} sees outside its run"
        if not seen_outside:
            return groups
        reasons.update(seen_outside)
        placements.update({node: Placement("effect", reason) for node, reason in seen_outside.items()})


def _with_objects(group: list[fx.Node]) -> list[fx.Node]:
    """The group, led by the graphs and other objects that only its own members read."""
    members = set(group)
    objects = {
        argument: None
        for node in group
        for argument in node.all_input_nodes
        if is_object_attribute(argument) and members.issuperset(argument.users)
    }
    return [*objects, *group]


def _sink_effects(order: list[fx.Node], reasons: dict[fx.Node, str], memory: Memory) -> tuple[list[fx.Node], list[str]]:
    """Move frees and other known writes behind the compute that follows them, where nothing can tell; last effect first.

    An effect stays, and so do all before it, if a later compiled node reads its result, touches memory that it writes, or writes
    memory that it reads; or if torch does not say what it writes.
    """
    sunk: list[fx.Node] = []
    touched_later: set[fx.Node] = set()
    written_later: set[fx.Node] = set()
    later: set[fx.Node] = set()
    kept: list[fx.Node] = []
    stuck = False
    for node in reversed(order):
        if not _is_call(node) or (node not in reasons):
            kept.append(node)
            if _is_call(node):
                later.add(node)
                touched_later.update(memory.of(value) for value in (node, *node.all_input_nodes))
                written_later.update(memory.of(value) for value in written(node))
            continue
        targets = {memory.of(value) for value in written(node)}
        reads = {memory.of(value) for value in node.all_input_nodes}
        free = bool(targets) and not targets & touched_later and not reads & written_later and not later.intersection(node.users)
        stuck = stuck or (bool(later) and not free)
        (kept if stuck or not later else sunk).append(node)
    kept.reverse()
    if not sunk:
        return order, []
    sunk.reverse()
    last = max(index for index, node in enumerate(kept) if _is_call(node) and node not in reasons)
    names = ", ".join(operator_name(node.target)[1] for node in sunk[:3]) + (", …" if len(sunk) > 3 else "")
    note = f"{len(sunk)} effect{'s' if len(sunk) > 1 else ''} moved behind the compute that followed ({names})"
    return [*kept[: last + 1], *sunk, *kept[last + 1 :]], [note]
