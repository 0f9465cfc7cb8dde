"""What is to be drawn, with every place known: the one description that all picture formats draw."""

from __future__ import annotations

from dataclasses import dataclass

from hyperviz.render.bands import Band
from hyperviz.render.fold import Panel
from hyperviz.render.labels import clean, cut
from hyperviz.render.layout import Layout, layout
from hyperviz.render.legend import Entry, legend
from hyperviz.render.palette import badge, paint_index
from hyperviz.render.parts import is_pill, label
from hyperviz.render.placement import Box, Point
from hyperviz.snapshot import GraphSnapshot, NodeSnapshot, Plan

MARGIN = 24.0
_CAVEAT = 1.4
"""Size of the words that a graph was not run: larger than all but the title."""


@dataclass(frozen=True, slots=True)
class NodeMark:
    """A node as drawn.

    Attributes:
        name: the node's.
        role: one of ``hyperviz.snapshot.ROLES``.
        kind: for a placeholder, what it stands for; otherwise empty.
        region: its region's number, or None.
        phase: as in the snapshot.
        box: (left, top, width, height).
        label: what is written on it, cut to fit.
        tooltip: the full name, the operator and the module.
    """

    name: str
    role: str
    kind: str
    region: int | None
    phase: str
    box: Box
    label: str
    tooltip: str

    @property
    def paint(self) -> int | None:
        """Index into the palette, or None without a region."""
        return None if self.region is None else paint_index(self.region)

    @property
    def badge(self) -> str:
        """What stands before the label."""
        return badge(self.role, self.region)


@dataclass(frozen=True, slots=True)
class EdgeMark:
    """An edge as drawn.

    Attributes:
        start: name of the producer.
        end: name of the consumer.
        kind: ``"near"`` (it shaped the layout), ``"far"``, ``"saved"``, or ``"pair"``: from a launch to a wait for it, whether or not
            the wait reads the launch itself.
        chain: control points of cubic Bézier pieces.
    """

    start: str
    end: str
    kind: str
    chain: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Words at the left margin.

    Attributes:
        kind: ``"title"``, ``"subtitle"``, ``"caveat"``, ``"fact"`` or ``"note"``.
        words: what is written.
        y: of the baseline.
        size: of the font.
    """

    kind: str
    words: str
    y: float
    size: float


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole picture; everything is below the title and above the legend already.

    Attributes:
        size: (width, height).
        unit: font size of legend and notes; it grows with the picture, so that they can be read when all is seen.
        title: the first line.
        subtitle: mode and counts.
        caveat: that the graph was not run, in a line of its own; empty for one that can run.
        facts: sentences below them, about the graph and the layout.
        notes: sentences at the foot, about the plan; there is room for one even where there is none, so that all plans of a graph fit
            into each other's picture.
        panels: backgrounds with headings.
        bands: brackets with module paths.
        edges: far ones first, then near, saved ones, pairs.
        nodes: in execution order.
        legend: at the foot.
    """

    size: tuple[float, float]
    unit: float
    title: str
    subtitle: str
    caveat: str
    facts: tuple[str, ...]
    notes: tuple[str, ...]
    panels: tuple[Panel, ...]
    bands: tuple[Band, ...]
    edges: tuple[EdgeMark, ...]
    nodes: tuple[NodeMark, ...]
    legend: tuple[Entry, ...]

    @property
    def lines(self) -> list[Line]:
        """Title, subtitle, caveat, facts and notes where they stand."""
        unit, y = self.unit, MARGIN
        lines = []
        for kind, scale, words in (
            ("title", 1.7, self.title),
            ("subtitle", 1.15, self.subtitle),
            *([("caveat", _CAVEAT, self.caveat)] if self.caveat else []),
            *(("fact", 1.0, fact) for fact in self.facts),
        ):
            lines.append(Line(kind, words, y + unit * scale, unit * scale))
            y += unit * (scale + 0.5)
        foot = self.size[1] - MARGIN - unit * 0.4
        last = len(self.notes) - 1
        return lines + [Line("note", note, foot - unit * 1.5 * (last - index), unit) for index, note in enumerate(self.notes)]

    @property
    def band_size(self) -> float:
        """Font size of the brackets' words."""
        return min(max(14.0, self.unit * 0.6), 22.0)

    @property
    def heading_size(self) -> float:
        """Font size of the panels' headings, all of which fit above their panels."""
        room = min((panel.box[2] / max(len(panel.heading), 1) for panel in self.panels), default=self.unit)
        return max(9.0, min(self.unit * 1.1, room * 1.7))


def scene(plan: Plan, placed: Layout | None = None) -> Scene:
    """Puts a plan onto a layout of its graph, which is made where none is given."""
    placed = placed or layout(plan.graph)
    empty = () if plan.graph.nodes else ("This graph has no nodes.",)
    facts = tuple(cut(fact, 160) for fact in (*plan.graph.notes, *placed.notes, *empty))
    notes = tuple(cut(note, 160) for note in plan.notes) or ("",)
    unit = min(max(11.0, placed.size[0] / 110), 40.0)
    caveat = plan.graph.caveat
    top = MARGIN + unit * (4.8 + 1.5 * len(facts) + (_CAVEAT + 0.5 if caveat else 0))
    width = max(placed.size[0] + 2 * MARGIN, unit * 62)
    legend_top = top + placed.size[1] + unit
    entries, legend_height = legend(MARGIN, legend_top, width - 2 * MARGIN, unit / 11, pairs=bool(_pairs(plan.graph)))
    region_of = plan.region_of()
    shift = _Shift((width - placed.size[0]) / 2, top)
    nodes = tuple(_node_mark(node, plan, region_of, shift.box(placed.boxes[node.name])) for node in plan.graph.nodes)
    panels = tuple(Panel(panel.heading, panel.phase, shift.box(panel.box)) for panel in placed.panels)
    bands = tuple(Band(band.module, band.x + shift.dx, band.top + top, band.bottom + top) for band in placed.bands)
    size = (width, legend_top + legend_height + unit * 1.5 * len(notes) + MARGIN)
    return Scene(
        size, unit, title(plan), plan.summary, caveat, facts, notes, panels, bands, _edge_marks(plan.graph, placed, shift), nodes, entries
    )


def title(plan: Plan) -> str:
    """A picture's first line."""
    return cut(plan.graph.title or "Graph", 90)


@dataclass(frozen=True, slots=True)
class _Shift:
    dx: float
    dy: float

    def box(self, box: Box) -> Box:
        return box[0] + self.dx, box[1] + self.dy, box[2], box[3]

    def chain(self, points: tuple[Point, ...]) -> tuple[Point, ...]:
        return tuple((x + self.dx, y + self.dy) for x, y in points)


def _node_mark(node: NodeSnapshot, plan: Plan, region_of: dict, box: Box) -> NodeMark:
    region = region_of.get(node.name)
    number = None if region is None else region.number
    return NodeMark(node.name, plan.roles[node.name], node.kind, number, node.phase, box, label(node), tooltip(node))


def tooltip(node: NodeSnapshot) -> str:
    """What a node is, in one line: its whole name where the label cut it, its operator, and its module."""
    words = [node.name] if is_pill(node) or label(node) != node.name else []
    words += [node.target] if node.target != node.name else []
    return clean(" · ".join([*words, *filter(None, [node.module_path])]))[:2000]


def _edge_marks(graph: GraphSnapshot, placed: Layout, shift: _Shift) -> tuple[EdgeMark, ...]:
    saved = {(a.name, b.name) for a, b in graph.saved_values()}
    pairs = _pairs(graph)
    edges = {(a.name, b.name): "saved" if (a.name, b.name) in saved else "far" for a, b in graph.edges()}
    marks = []
    for edge, kind in (edges | dict.fromkeys(pairs, "pair")).items():
        routed = placed.routes.get(edge)
        chain = routed or _across(placed.boxes[edge[0]], placed.boxes[edge[1]])
        marks.append(EdgeMark(*edge, "near" if routed and edge not in pairs else kind, shift.chain(chain)))
    return tuple(sorted(marks, key=lambda mark: ("far", "near", "saved", "pair").index(mark.kind)))


def _pairs(graph: GraphSnapshot) -> list[tuple[str, str]]:
    return [(one.launch, wait) for one in graph.collectives for wait in one.waits if wait != one.launch]


def _across(start: Box, end: Box) -> tuple[Point, ...]:
    """A curve between the facing sides of two boxes."""
    left_to_right = start[0] + start[2] / 2 <= end[0] + end[2] / 2
    x0, x1 = (start[0] + start[2], end[0]) if left_to_right else (start[0], end[0] + end[2])
    y0, y1 = start[1] + start[3] / 2, end[1] + end[3] / 2
    bend = max(abs(x1 - x0) * 0.45, 24.0) * (1 if left_to_right else -1)
    return ((x0, y0), (x0 + bend, y0), (x1 - bend, y1), (x1, y1))
