"""Folds two long sides into columns, and carries the edges that cross a fold around to the next column."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hyperviz.render.columns import cuts
from hyperviz.render.curves import Chain, polyline, split
from hyperviz.render.placement import Box, Placement

_SIDE_GAP, _GUTTER, _LANES, _LANE = 64.0, 44.0, 30.0, 5.0
_PAD, _BRACKET = 16.0, 34.0
HEADING = 40.0
"""Room above each panel for what is written there."""

_WANTED_ASPECT, _MAX_COLUMNS, _LOWEST = 1.5, 10, 600.0


@dataclass(frozen=True, slots=True)
class Panel:
    """The part of one phase that stands in one column.

    Attributes:
        heading: what stands above it.
        phase: as in a node's snapshot.
        box: (left, top, width, height) of its background.
    """

    heading: str
    phase: str
    box: Box


@dataclass(frozen=True, slots=True)
class Folded:
    """Everything at its final place; y grows downwards, units are pixels.

    Attributes:
        boxes: node name → (left, top, width, height).
        routes: (from, to) → control points, for the edges that the layout knew.
        panels: in reading order.
        size: (width, height) of everything.
    """

    boxes: dict[str, Box]
    routes: dict[tuple[str, str], Chain]
    panels: tuple[Panel, ...]
    size: tuple[float, float]


@dataclass(slots=True)
class _Strip:
    """One side between two cuts: what moves it to its place."""

    dx: float
    dy: float
    panel: Box
    gutter_left: float
    gutter_right: float
    crossings: int = 0

    def moved(self, chain: Sequence[tuple[float, float]]) -> Chain:
        return tuple((x + self.dx, y + self.dy) for x, y in chain)


def fold(sides: Sequence[Placement], phases: Sequence[str]) -> Folded:
    """Puts the sides beside each other, and folds them into as many columns as make the whole about as wide as a screen."""
    most = min(_MAX_COLUMNS, max(1, int(max((side.height for side in sides), default=0.0) / _LOWEST)))
    foldings = [cuts(sides, count) for count in range(1, most + 1)]
    return _folded(sides, phases, min(foldings, key=lambda heights: _misfit(_strips(sides, heights)[1])))


def _misfit(size: tuple[float, float]) -> float:
    """How far a size is from the wanted aspect."""
    aspect = size[0] / size[1] / _WANTED_ASPECT
    return max(aspect, 1 / aspect)


def _folded(sides: Sequence[Placement], phases: Sequence[str], heights: Sequence[float]) -> Folded:
    strips, size = _strips(sides, heights)
    boxes: dict[str, Box] = {}
    routes: dict[tuple[str, str], Chain] = {}
    for side, column in zip(sides, strips, strict=True):
        where = {name: bisect_right(heights, side.middle(name)) for name in side.boxes}
        for name, (x, y, w, h) in side.boxes.items():
            strip = column[where[name]]
            boxes[name] = (x + strip.dx, y + strip.dy, w, h)
        for (start, end), chain in side.routes.items():
            routes[start, end] = _carried(chain, column, heights, where[start], where[end])
    panels = tuple(
        Panel(_heading(phase, index, len(heights) + 1), phase, strip.panel)
        for index in range(len(heights) + 1)
        for phase, column in zip(phases, strips, strict=True)
        for strip in [column[index]]
        if strip.panel[2]
    )
    return Folded(boxes, routes, panels, size)


def _heading(phase: str, index: int, count: int) -> str:
    name = {"forward": "Forward ↓", "backward": "Backward ↑"}.get(phase, "")
    return f"{name} {index + 1}/{count}".strip() if count > 1 else name


def _strips(sides: Sequence[Placement], heights: Sequence[float]) -> tuple[list[list[_Strip]], tuple[float, float]]:
    """Per side its strips, and the size of everything."""
    ends = [0.0, *heights, max((side.height for side in sides), default=0.0)]
    tallest = max(b - a for a, b in pairwise(ends))
    strips: list[list[_Strip]] = [[] for _ in sides]
    x, top = 0.0, HEADING + _LANES
    for index in range(len(ends) - 1):
        gutter = x - _GUTTER / 2
        for column, side in zip(strips, sides, strict=True):
            inside = [box for name, box in side.boxes.items() if bisect_right(heights, side.middle(name)) == index]
            left = min((box[0] for box in inside), default=0.0)
            width = max((box[0] + box[2] for box in inside), default=0.0) - left
            panel = (x, top - _PAD, _BRACKET + width + 2 * _PAD, tallest + 2 * _PAD) if inside else (x, top, 0.0, 0.0)
            column.append(_Strip(x + _BRACKET + _PAD - left, top - ends[index], panel, gutter, 0.0))
            x += panel[2] + (_SIDE_GAP if inside else 0.0)
        x += _GUTTER - _SIDE_GAP
        for column in strips:
            column[index].gutter_right = x - _GUTTER / 2
    return strips, (x - _GUTTER, top + tallest + _PAD + _LANES)


def _carried(chain: Chain, column: list[_Strip], heights: Sequence[float], start: int, end: int) -> Chain:
    """The edge in its strip, or in pieces joined through the gutters."""
    step = 1 if end > start else -1
    result: Chain = ()
    while start != end:
        here, chain = split(chain, heights[start if step > 0 else start - 1])
        a, b = column[start], column[start + step]
        result = _joined(result, a.moved(here))
        result = _joined(result, _around(result[-1], b.moved(chain)[0], a, b, down=step > 0))
        start += step
    return _joined(result, column[end].moved(chain))


def _around(start: tuple[float, float], end: tuple[float, float], a: _Strip, b: _Strip, *, down: bool) -> Chain:
    """From the foot of one strip to the head of the next, or back up."""
    lane = _LANE * (a.crossings % 5)
    a.crossings += 1
    bottom, head = (a, b) if down else (b, a)
    foot_y = bottom.panel[1] + bottom.panel[3] + 6 + lane
    head_y = head.panel[1] - 6 - lane
    x = (a.gutter_right if down else a.gutter_left) + lane * (1 if down else -1)
    first, second = (foot_y, head_y) if down else (head_y, foot_y)
    return polyline([start, (start[0], first), (x, first), (x, second), (end[0], second), end])


def _joined(first: Chain, second: Chain) -> Chain:
    return (*first, *second[1:]) if first else tuple(second)
