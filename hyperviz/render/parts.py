"""What of a graph is laid out: one part for each phase, its boxes' sizes, and the edges that shape it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hyperviz.render.labels import FONT_SIZE, SMALL_SIZE, cells, cut, tail, width
from hyperviz.render.levels import levels
from hyperviz.render.ties import ties
from hyperviz.snapshot import PHASES, NodeSnapshot

BOX_HEIGHT, PILL_HEIGHT = 22.0, 15.0
_BADGE, _PADDING, _MAX_PILL = 4, 14.0, 18
_MAX_SPAN = 30
"""Edges over more levels than this are drawn, but do not shape the layout: each would take room at every level it passes."""


@dataclass(frozen=True, slots=True)
class Part:
    """One phase, ready to be laid out on its own.

    Attributes:
        sizes: node name → (width, height) in pixels, producers first.
        edges: (producer, consumer), the edges that shape the layout.
        ties: invisible edges that keep unconnected pieces where they run.
    """

    sizes: Mapping[str, tuple[float, float]]
    edges: Sequence[tuple[str, str]]
    ties: Sequence[tuple[str, str]]


def parts(nodes: Sequence[NodeSnapshot]) -> dict[str, Part]:
    """Phase → what is laid out of it; a graph without phases has one part, under ``""``.

    Left out are the edges between phases, a placeholder's edges to all readers but its first, and very long edges.
    """
    phases = _phases(nodes)
    wanted = [phase for phase in (*PHASES, "") if phase in phases.values()]
    return {phase: _part([node for node in nodes if phases[node.name] == phase]) for phase in wanted}


def is_pill(node: NodeSnapshot) -> bool:
    """Whether a node is drawn as a small pill: it only brings a value in."""
    return node.op in ("placeholder", "get_attr")


def label(node: NodeSnapshot) -> str:
    """What is written on a node: its name, or for a pill what it stands for."""
    return tail(node.target, _MAX_PILL) if is_pill(node) else cut(node.name)


def size(node: NodeSnapshot) -> tuple[float, float]:
    """Width and height of a node's box; a box has room for a region's number whatever the plan."""
    if is_pill(node):
        return width(label(node), SMALL_SIZE) + _PADDING, PILL_HEIGHT
    return (cells(label(node)) + _BADGE) * width("m", FONT_SIZE) + _PADDING, BOX_HEIGHT


def _part(nodes: Sequence[NodeSnapshot]) -> Part:
    pills = {node.name: node for node in nodes if is_pill(node)}
    sizes: dict[str, tuple[float, float]] = {}
    edges = []
    for node in nodes:
        if node.name in pills:
            continue
        for name in node.inputs:
            if name in pills and name not in sizes:
                sizes[name] = size(pills[name])
                edges.append((name, node.name))
            elif name in sizes and name not in pills:
                edges.append((name, node.name))
        sizes[node.name] = size(node)
    calls = [node.name for node in nodes if node.name not in pills]
    loose = [name for name in pills if name not in sizes]
    sizes = {name: size(pills[name]) for name in loose} | sizes
    shaping = _shaping(sizes, edges)
    return Part(sizes, shaping, ties(calls, loose, shaping))


def _phases(nodes: Iterable[NodeSnapshot]) -> dict[str, str]:
    """Node name → the phase it stands in: its own; a pill's is its first reader's, the output's that of its first input."""
    phases: dict[str, str] = {}
    readers: dict[str, str] = {}
    has_phases = any(node.phase for node in nodes)
    for node in nodes:
        inputs = [phases[name] for name in node.inputs if phases[name]]
        phases[node.name] = node.phase or (inputs[0] if inputs else PHASES[0] if has_phases else "")
        for name in node.inputs:
            readers.setdefault(name, phases[node.name])
    pills = {node.name: readers[node.name] for node in nodes if is_pill(node) and node.name in readers}
    return phases | pills


def _shaping(names: Iterable[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """All edges but the very long ones, of which each node keeps its shortest."""
    level = levels(names, edges)
    shortest: dict[str, int] = {}
    for start, end in edges:
        shortest[end] = min(shortest.get(end, level[end]), level[end] - level[start])
    return [(start, end) for start, end in edges if level[end] - level[start] <= max(_MAX_SPAN, shortest[end])]
