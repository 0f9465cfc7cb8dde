"""A chain of Bézier pieces as the shortest SVG path: whole pixels, relative, straight pieces as lines."""

from __future__ import annotations

from collections.abc import Sequence

from hyperviz.render.placement import Point


def path(chain: Sequence[Point]) -> str:
    """What stands in a path's ``d``.

    >>> path(((0, 0), (0, 10), (0, 20), (0, 30), (0, 30), (9, 30), (9, 40)))
    'M0 0v30c0 0 9 0 9 10'
    """
    x, y = (round(number) for number in chain[0])
    words = [f"M{x} {y}"]
    for start in range(1, len(chain), 3):
        a, b, c = ((round(px) - x, round(py) - y) for px, py in chain[start : start + 3])
        if c != (0, 0) or a != b:
            words.append(_line(c) if _straight(a, c) and _straight(b, c) else "c" + _numbers(*a, *b, *c))
        x, y = x + c[0], y + c[1]
    return "".join(words)


def _straight(point: tuple[int, int], end: tuple[int, int]) -> bool:
    """Whether a point is within about a pixel of the line from the origin to the end."""
    return abs(point[0] * end[1] - point[1] * end[0]) <= 1 + abs(end[0]) + abs(end[1])


def _line(end: tuple[int, int]) -> str:
    if end[0] == 0:
        return f"v{end[1]}"
    return f"h{end[0]}" if end[1] == 0 else "l" + _numbers(*end)


def _numbers(*numbers: int) -> str:
    return " ".join(map(str, numbers)).replace(" -", "-")
