"""Chains of cubic Bézier pieces: split at a height, and rounded at corners."""

from __future__ import annotations

from collections.abc import Sequence

from hyperviz.render.placement import Point

Chain = tuple[Point, ...]


def split(chain: Sequence[Point], y: float) -> tuple[Chain, Chain]:
    """The chain up to the first point at height ``y`` and the rest; the whole and its last point where it never gets there."""
    for start in range(0, len(chain) - 1, 3):
        piece = chain[start : start + 4]
        if (piece[0][1] - y) * (piece[3][1] - y) <= 0:
            first, second = _halves(piece, _parameter_at(piece, y))
            return (*chain[:start], *first), (*second, *chain[start + 4 :])
    return tuple(chain), (chain[-1],) * 4


def polyline(points: Sequence[Point], radius: float = 8.0) -> Chain:
    """A chain of straight pieces through the points, its corners rounded."""
    chain: list[Point] = [points[0]]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _towards(corner, before, radius), _towards(corner, after, radius)
        chain += [*_straight(chain[-1], near), near, corner, corner, far]
    chain += [*_straight(chain[-1], points[-1]), points[-1]]
    return tuple(chain)


def _straight(start: Point, end: Point) -> tuple[Point, Point]:
    return start, end


def _towards(start: Point, end: Point, distance: float) -> Point:
    length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
    part = min(distance / length, 0.5) if length else 0.0
    return _between(start, end, part)


def _between(start: Point, end: Point, part: float) -> Point:
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def _halves(piece: Sequence[Point], t: float) -> tuple[Chain, Chain]:
    """De Casteljau's construction."""
    a, b, c, d = piece
    ab, bc, cd = _between(a, b, t), _between(b, c, t), _between(c, d, t)
    abc, bcd = _between(ab, bc, t), _between(bc, cd, t)
    middle = _between(abc, bcd, t)
    return (a, ab, abc, middle), (middle, bcd, cd, d)


def _parameter_at(piece: Sequence[Point], y: float) -> float:
    """Bisection: the piece's ends lie on two sides of ``y``."""
    low, high = 0.0, 1.0
    rising = piece[3][1] >= piece[0][1]
    for _ in range(30):
        t = (low + high) / 2
        below = _halves(piece, t)[0][3][1] < y
        low, high = (t, high) if below == rising else (low, t)
    return (low + high) / 2
