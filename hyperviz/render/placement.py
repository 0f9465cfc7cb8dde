"""Where the nodes of one phase are, before the phases are put side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

Point = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Placement:
    """Nodes and edges of one phase on a plane of its own; y grows downwards, units are pixels.

    Attributes:
        boxes: node name → (left, top, width, height).
        routes: (from, to) → the control points of a cubic Bézier chain: one start, then three per piece.
        width: of everything.
        height: of everything.
    """

    boxes: Mapping[str, Box]
    routes: Mapping[tuple[str, str], tuple[Point, ...]]
    width: float
    height: float

    def mapped(self, move: Callable[[float, float], Point], *, width: float, height: float) -> Placement:
        """The same with every box centre and every control point moved; boxes keep their size."""
        boxes = {}
        for name, (x, y, w, h) in self.boxes.items():
            cx, cy = move(x + w / 2, y + h / 2)
            boxes[name] = (cx - w / 2, cy - h / 2, w, h)
        routes = {edge: tuple(move(*point) for point in points) for edge, points in self.routes.items()}
        return replace(self, boxes=boxes, routes=routes, width=width, height=height)

    def upside_down(self) -> Placement:
        """The same, flowing upwards."""
        return self.mapped(lambda x, y: (x, self.height - y), width=self.width, height=self.height)

    def middle(self, name: str) -> float:
        """The y of a node's centre."""
        _, y, _, h = self.boxes[name]
        return y + h / 2


def connector(start: Box, end: Box) -> tuple[Point, ...]:
    """A curve from the bottom of one box to the top of another, for edges that no layout routed."""
    (x0, y0), (x1, y1) = (start[0] + start[2] / 2, start[1] + start[3]), (end[0] + end[2] / 2, end[1])
    bend = (y1 - y0) / 2
    return ((x0, y0), (x0, y0 + bend), (x1, y1 - bend), (x1, y1))
