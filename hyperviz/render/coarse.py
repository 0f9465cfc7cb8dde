"""A coarse layout of our own, for when Graphviz fails: one row for each topological level."""

from __future__ import annotations

from collections import defaultdict

from hyperviz.render.levels import levels
from hyperviz.render.parts import Part
from hyperviz.render.placement import Box, Placement, connector

_GAP_X, _GAP_Y, _MAX_ROW = 10.0, 14.0, 1600.0


def place_by_level(part: Part) -> Placement:
    """Every node in a row below its lowest producer, long rows wrapped; linear in the graph's size."""
    boxes: dict[str, Box] = {}
    top = 0.0
    for row in _rows(levels(part.sizes, (*part.edges, *part.ties))):
        left, height = 0.0, max(part.sizes[name][1] for name in row)
        for name in row:
            w, h = part.sizes[name]
            if left and left + w > _MAX_ROW:
                left, top = 0.0, top + height + _GAP_Y / 2
            boxes[name] = (left, top, w, h)
            left += w + _GAP_X
        top += height + _GAP_Y
    routes = {(start, end): connector(boxes[start], boxes[end]) for start, end in part.edges}
    right = max((x + w for x, _, w, _ in boxes.values()), default=0.0)
    return Placement(boxes, routes, right, max(top - _GAP_Y, 0.0))


def _rows(level: dict[str, int]) -> list[list[str]]:
    rows = defaultdict(list)
    for name, number in level.items():
        rows[number].append(name)
    return [rows[number] for number in sorted(rows)]
