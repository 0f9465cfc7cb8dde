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

    def mapped(self, move: Callable[[float], float], *, height: float, flip: bool = False) -> Placement:
        """The same with every height moved. Boxes keep their size, and edges keep touching them where they did.

        Args:
            move: old y → new y.
            height: of everything, afterwards.
            flip: whether ``move`` turns up and down around.
        """
        sign = -1 if flip else 1
        middles = {name: move(self.middle(name)) for name in self.boxes}
        boxes = {name: (x, middles[name] - h / 2, w, h) for name, (x, _, w, h) in self.boxes.items()}
        routes = {}
        for (start, end), points in self.routes.items():
            first = (points[0][0], middles[start] + sign * (points[0][1] - self.middle(start)))
            last = (points[-1][0], middles[end] + sign * (points[-1][1] - self.middle(end)))
            routes[start, end] = (first, *((x, move(y)) for x, y in points[1:-1]), last)
        return replace(self, boxes=boxes, routes=routes, height=height)

    def upside_down(self) -> Placement:
        """The same, flowing upwards."""
        return self.mapped(lambda y: self.height - y, height=self.height, flip=True)

    def middle(self, name: str) -> float:
        """The y of a node's centre."""
        _, y, _, h = self.boxes[name]
        return y + h / 2


def connector(start: Box, end: Box) -> tuple[Point, ...]:
    """A curve from the bottom of one box to the top of another, for edges that no layout routed."""
    (x0, y0), (x1, y1) = (start[0] + start[2] / 2, start[1] + start[3]), (end[0] + end[2] / 2, end[1])
    bend = (y1 - y0) / 2
    return ((x0, y0), (x0, y0 + bend), (x1, y1 - bend), (x1, y1))
