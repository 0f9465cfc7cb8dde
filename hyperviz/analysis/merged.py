"""What torch makes of tags alone: its regional Inductor groups tagged nodes by data edges, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import fx

from hyperviz.analysis.memory import Memory, written
from hyperviz.graph.copies import copy_graph_module
from hyperviz.graph.kinds import operator_name

_PREFIX = "__marked_inductor_submod"


@dataclass(frozen=True, slots=True)
class Merged:
    """Torch's grouping of tagged nodes.

    Attributes:
        order: every node in the order in which torch would run them.
        groups: the members of each region, in execution order.
        notes: which frees had to be moved, and which effects no longer stand where they stood.
    """

    order: list[fx.Node]
    groups: list[list[fx.Node]]
    notes: list[str]


def merge_as_torch(graph_module: fx.GraphModule, tagged: Iterable[fx.Node], tag: str) -> Merged:
    """Group and order nodes as ``torch.fx.passes.regional_inductor`` does without region ids: by its own code, on a private copy.

    Frees are the one exception. No data edge leads from the last reader of a storage to the call that frees it, so torch may free
    before it reads, and the process ends in a segmentation fault; such a free is moved behind its last reader, with a note. Other
    effects stay where torch puts them, right or wrong: each one that changed sides with a node that shares its memory is named in a
    note. Takes as long as torch's own grouping, which is quadratic: minutes for some thousand nodes.

    Args:
        graph_module: left as it is.
        tagged: the nodes that a person would tag.
        tag: the key that torch looks for in ``meta["custom"]``.

    Raises:
        ValueError: this torch has no regional Inductor.
    """
    if find_spec("torch.fx.passes.regional_inductor") is None:
        raise ValueError(
            f"region_strategy 'merged' must be run with torch 2.10 or later, which merges by tags, got torch {torch.__version__}"
        )
    scratch = copy_graph_module(graph_module)
    original = dict(zip(scratch.graph.nodes, graph_module.graph.nodes, strict=True))
    wanted = set(tagged)
    for node, first in original.items():
        custom = {key: value for key, value in (node.meta.get("custom") or {}).items() if key != tag}
        node.meta = {"val": node.meta.get("val"), "custom": custom | ({tag: {}} if first in wanted else {}), "origin": first}
    order, groups = _read(_scoop(scratch))
    before = {node: index for index, node in enumerate(graph_module.graph.nodes)}
    memory = Memory(graph_module.graph)
    notes = _rescue_frees(order, groups, before, memory)
    return Merged(order, groups, notes + _swapped(order, groups, before, memory))


def _scoop(graph_module: fx.GraphModule) -> fx.GraphModule:
    from torch.fx.passes import regional_inductor

    # torch renamed nothing here since it came (2.10); what is public compiles at once.
    return regional_inductor._create_inductor_marked_regions(graph_module)


def _read(fused: fx.GraphModule) -> tuple[list[fx.Node], list[list[fx.Node]]]:
    """The order and the groups of what torch fused, in nodes of the graph that it was copied from."""
    order: list[fx.Node] = []
    groups: list[list[fx.Node]] = []
    seen: set[fx.Node] = set()
    for node in fused.graph.nodes:
        if node.op == "call_module" and str(node.target).startswith(_PREFIX):
            inside: fx.Graph = fused.get_submodule(str(node.target)).graph  # pyright: ignore[reportAssignmentType]
            groups.append([inner.meta["origin"] for inner in inside.nodes if inner.op not in ("placeholder", "output")])
            order += groups[-1]
            seen.update(groups[-1])
        elif (first := node.meta.get("origin")) is not None and first not in seen:
            order.append(first)
    return order, groups


def _rescue_frees(order: list[fx.Node], groups: Sequence[Sequence[fx.Node]], before: Mapping[fx.Node, int], memory: Memory) -> list[str]:
    """Put every free that torch moved before a reader of its storage behind the last such reader; in place."""
    place = _places(order, groups)
    moved: dict[int, list[fx.Node]] = {}
    for free in (node for node in order if operator_name(node.target)[1] == "resize_storage_bytes_"):
        readers = [other for other in memory.touching(free.all_input_nodes[0]) if before[other] < before[free]]
        last = max((place[other] for other in readers), default=-1)
        if last > place[free]:
            moved.setdefault(last, []).append(free)
    if not moved:
        return []
    gone = {free for frees in moved.values() for free in frees}
    kept = [node for node in order if node not in gone]
    order[:] = []
    for node, following in zip(kept, [*kept[1:], None], strict=True):
        order.append(node)
        if following is None or place[following] != place[node]:
            order += moved.get(place[node], [])
    return [f"{_count(len(gone), 'free')} moved behind the last reader: torch would run {'it' if len(gone) == 1 else 'them'} before it"]


def _swapped(order: Sequence[fx.Node], groups: Sequence[Sequence[fx.Node]], before: Mapping[fx.Node, int], memory: Memory) -> list[str]:
    """Which writes changed sides with a node that reads or writes the same memory."""
    place = _places(order, groups)
    notes = []
    for writer in order:
        for target in written(writer):
            for other in memory.touching(target):
                if place[other] != place[writer] and (before[other] < before[writer]) != (place[other] < place[writer]):
                    first, second = sorted((writer, other), key=before.__getitem__)
                    notes.append(f"{second.name} runs before {first.name}, though they share memory that {writer.name} writes")
    return list(dict.fromkeys(notes))


def _places(order: Sequence[fx.Node], groups: Sequence[Sequence[fx.Node]]) -> dict[fx.Node, int]:
    """Where a node runs: members of one region run together."""
    leader = {node: group[-1] for group in groups for node in group}
    index = {node: position for position, node in enumerate(order)}
    return {node: index[leader.get(node, node)] for node in order}


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
