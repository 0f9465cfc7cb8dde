"""Where a graph reads a parameter: itself, its views, and the casts of it that are cheaper to make again than to keep."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import fx

from hyperviz.analysis import Memory, written


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of one parameter.

    Attributes:
        derived: forward nodes that are views of it, or casts, or views of casts, in execution order.
        forward: forward nodes that read or are its memory, in execution order.
        backward: nodes of the backward, and the output, that read it or something derived from it, in execution order.
    """

    derived: tuple[fx.Node, ...]
    forward: tuple[fx.Node, ...]
    backward: tuple[fx.Node, ...]


def find_uses(parameter: fx.Node, fqn: str, memory: Memory, writers: dict[fx.Node, fx.Node]) -> Uses:
    """The uses of a parameter.

    Args:
        parameter: its placeholder.
        fqn: what to call it in an error.
        memory: of the graph.
        writers: memory class → a node that writes to it, as ``find_writers`` returns it.

    Raises:
        ValueError: the step writes to the parameter: a gathered copy would be written, and lost.
    """
    if writer := writers.get(memory.of(parameter)):
        raise ValueError(f"a sharded parameter must not be written during the step, but {writer.name} writes to {fqn!r}")
    family = [parameter, *_derived(parameter, memory, writers)]
    readers = sorted({user for member in family for user in member.users})
    return Uses(
        derived=tuple(family[1:]),
        forward=tuple(node for node in memory.touching(parameter) if node.op != "placeholder" and is_forward(node)),
        backward=tuple(node for node in readers if not is_forward(node)),
    )


def used_again_at_once(uses: Mapping[str, Uses], graph: fx.Graph) -> list[str]:
    """The parameters between whose last use in the forward and first in the backward nothing reads another parameter.

    Args:
        uses: parameter → its uses, for every parameter that is sharded.
        graph: that they are in.
    """
    position = {node: index for index, node in enumerate(graph.nodes)}
    places = sorted(position[node] for one in uses.values() for node in (*one.forward, *one.backward))
    found = []
    for fqn, one in uses.items():
        if one.forward and one.backward:
            last, first = position[one.forward[-1]], position[one.backward[0]]
            if bisect_right(places, last) == bisect_left(places, first):
                found.append(fqn)
    return found


def find_writers(graph: fx.Graph, memory: Memory) -> dict[fx.Node, fx.Node]:
    """Memory class → the first node that writes to it."""
    writers: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        for target in written(node):
            writers.setdefault(memory.of(target), node)
    return writers


def is_forward(node: fx.Node) -> bool:
    """Whether a node belongs to the forward; every node but the output does where a graph has no phases."""
    return node.op != "output" and node.meta.get("phase") != "backward"


def _derived(parameter: fx.Node, memory: Memory, writers: dict[fx.Node, fx.Node]) -> Iterator[fx.Node]:
    family, waiting = {parameter}, sorted(parameter.users)
    while waiting:
        node = waiting.pop(0)
        if node in family or not is_forward(node):
            continue
        parents = [parent for parent in node.all_input_nodes if parent in family]
        if any(memory.of(parent) is memory.of(node) for parent in parents) or (_is_cast(node) and memory.of(node) not in writers):
            family.add(node)
            yield node
            waiting = sorted({*waiting, *node.users})


def _is_cast(node: fx.Node) -> bool:
    return node.target is torch.ops.aten._to_copy.default
