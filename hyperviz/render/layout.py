"""Where every node of a graph stands: forward flows down, backward flows up beside it, saved values short between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from hyperviz.render.bands import Band, bands
from hyperviz.render.coarse import place_by_level
from hyperviz.render.columns import align
from hyperviz.render.dot_child import LayoutError, place
from hyperviz.render.fold import Panel, fold
from hyperviz.render.parts import parts
from hyperviz.render.placement import Box, Placement, Point
from hyperviz.snapshot import PHASES, GraphSnapshot, NodeSnapshot


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands; x grows to the right, y downwards, units are pixels.

    Attributes:
        boxes: node name → (left, top, width, height), for every node of the graph.
        routes: (from, to) → control points of a chain of cubic Bézier curves, for the edges that shaped the layout. The others
            (saved values, state read again far away, very long edges) are drawn straight from box to box.
        panels: the background of each phase in each column, with its heading.
        bands: brackets that say which block of the model stands where.
        size: (width, height) of everything.
        notes: sentences that a picture must carry, as in why the layout is coarse.
    """

    boxes: Mapping[str, Box]
    routes: Mapping[tuple[str, str], tuple[Point, ...]]
    panels: tuple[Panel, ...]
    bands: tuple[Band, ...]
    size: tuple[float, float]
    notes: tuple[str, ...] = ()


def layout(graph: GraphSnapshot, *, timeout_s: float = 60.0) -> Layout:
    """Places a graph's nodes; the same for every plan of the graph, and remembered within the process.

    Graphviz runs in a child process. When it fails or takes longer than ``timeout_s`` seconds, the result is coarser, one row for each
    topological level, and says so in ``notes``.

    Raises:
        ValueError: ``timeout_s`` is not above zero.
    """
    if not timeout_s > 0:
        raise ValueError(f"timeout_s must be above 0, got {timeout_s!r}")
    try:
        return _with_graphviz(graph.nodes, timeout_s)
    except LayoutError as error:
        return _coarse(graph.nodes, f"The layout is coarse, one row for each level: {error}.")


@lru_cache(maxsize=32)
def _with_graphviz(nodes: tuple[NodeSnapshot, ...], timeout_s: float) -> Layout:
    by_phase = parts(nodes)
    return _assembled(nodes, list(by_phase), place(list(by_phase.values()), timeout_s) if nodes else [], ())


@lru_cache(maxsize=32)
def _coarse(nodes: tuple[NodeSnapshot, ...], note: str) -> Layout:
    by_phase = parts(nodes)
    return _assembled(nodes, list(by_phase), [place_by_level(part) for part in by_phase.values()], (note,))


def _assembled(nodes: tuple[NodeSnapshot, ...], phases: list[str], sides: list[Placement], notes: tuple[str, ...]) -> Layout:
    if phases == list(PHASES):
        forward, backward = align(sides[0], sides[1].upside_down(), _opposite(nodes, sides))
        sides = [forward, backward]
    folded = fold(sides, phases)
    return Layout(folded.boxes, folded.routes, folded.panels, bands(nodes, folded.boxes, folded.panels), folded.size, notes)


def _opposite(nodes: tuple[NodeSnapshot, ...], sides: list[Placement]) -> list[tuple[str, str]]:
    """Pairs that should stand at one height: a backward node with its twin, and with the forward values that it reads."""
    forward, backward = (side.boxes for side in sides)
    return [(name, node.name) for node in nodes if node.name in backward for name in (*node.inputs, node.twin) if name in forward]
