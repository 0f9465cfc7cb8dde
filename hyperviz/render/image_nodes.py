"""The nodes of a scene in matplotlib: what the SVG's style sheet says by role and paint, said again for lines and hatches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from hyperviz.render.glyphs import MONO, Words
from hyperviz.render.labels import FONT_SIZE, LETTER, SMALL_SIZE, width
from hyperviz.render.palette import Theme, paint
from hyperviz.render.scene import NodeMark
from hyperviz.render.shapes import rounded

_POINTS = 0.75
_HATCHES = {"plain": None, "stripes": "////", "dots": "...", "bars": "----"}


@dataclass(frozen=True, slots=True)
class _Look:
    """How a node's box is drawn; lengths in pixels, dashes None for a solid line."""

    fill: str
    line: str
    width: float
    radius: float
    text: str
    dashes: tuple[float, float] | None = None
    hatch: str | None = None
    mark: str = ""


def draw_boxes(axes: Axes, nodes: Sequence[NodeMark], theme: Theme, scale: float = 1.0) -> None:
    """Draws the nodes' boxes, one collection for each look."""
    groups: dict[_Look, list[NodeMark]] = defaultdict(list)
    for node in nodes:
        groups[_look(node, theme)].append(node)
    for look, members in groups.items():
        _boxes(axes, look, members, scale)


def node_words(nodes: Iterable[NodeMark], theme: Theme, scale: float = 1.0) -> Iterator[Words]:
    """Badge and label of every node, where the SVG has them."""
    for node in nodes:
        color = _look(node, theme).text
        size = (SMALL_SIZE if node.role == "placeholder" else FONT_SIZE) * scale
        x, y, w, h = node.box
        badge = node.badge + (" " if node.badge and node.label else "")
        start, baseline = x + (w - width(badge + node.label, size)) / 2, y + h / 2 + 0.36 * size
        if node.badge:
            sign = theme.alarm if node.role == "effect" else color
            yield Words(start, baseline, node.badge, size, sign, MONO, bold=True)
        if node.label:
            yield Words(start + len(badge) * LETTER * size, baseline, node.label, size, color, MONO)


def _boxes(axes: Axes, look: _Look, nodes: Sequence[NodeMark], scale: float) -> None:
    paths = [rounded(node.box, look.radius * scale) for node in nodes]
    axes.add_collection(PathCollection(paths, facecolors=look.fill, edgecolors="none", zorder=3), autolim=False)
    if look.hatch:
        hatching = PathCollection(paths, facecolors="none", edgecolors=look.mark, linewidths=0, hatch=look.hatch, zorder=4)
        axes.add_collection(hatching, autolim=False)
    style = "solid" if look.dashes is None else (0, tuple(length / look.width for length in look.dashes))
    outline = PathCollection(
        paths, facecolors="none", edgecolors=look.line, linewidths=look.width * scale * _POINTS, linestyles=[style], zorder=5
    )
    axes.add_collection(outline, autolim=False)


def _look(node: NodeMark, theme: Theme) -> _Look:
    look = _of_role(node, theme)
    if node.paint is None:
        return look
    shade = paint(node.paint, theme)
    return _Look(shade.fill, shade.line, look.width, look.radius, theme.ink, look.dashes, _HATCHES[shade.pattern], shade.mark)


def _of_role(node: NodeMark, theme: Theme) -> _Look:
    if node.role == "placeholder":
        if node.kind == "input":
            return _Look(theme.neutral, theme.ink, 2, 0, theme.ink)
        return _Look(theme.neutral, theme.faint, 1, 8, theme.ink, (2, 1.5) if node.kind == "buffer" else None)
    return {
        "compute": _Look(theme.neutral, theme.faint, 1, 5, theme.ink),
        "eager": _Look(theme.paper, theme.ink, 1.3, 0, theme.ink, (4, 2.5)),
        "collective": _Look(theme.ink, theme.ink, 2, 11, theme.paper),
        "wait": _Look(theme.paper, theme.ink, 2.6, 11, theme.ink),
        "effect": _Look(theme.neutral, theme.alarm, 2.2, 0, theme.ink, None, "\\\\\\", theme.hatch),
        "output": _Look(theme.paper, theme.ink, 2.6, 0, theme.ink),
    }[node.role]
