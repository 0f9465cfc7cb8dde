"""Forward and backward side by side: twins at one height, and the whole folded into columns like a newspaper's."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from hyperviz.render.placement import Placement

_ANCHOR_GAP = 260.0
_FAR = 5.0
"""How many more edges a cut may meet to be nearer to where the columns are equal, at the end of its reach."""


def align(left: Placement, right: Placement, pairs: Iterable[tuple[str, str]]) -> tuple[Placement, Placement]:
    """Stretches both sides, never shrinks, so that as many pairs as possible stand at one height while each side keeps its order."""
    anchors = _anchors([(left.middle(a), right.middle(b)) for a, b in pairs], left.height, right.height)
    ys_left, ys_right, merged = _merge(anchors)
    return _stretched(left, ys_left, merged), _stretched(right, ys_right, merged)


def _anchors(points: list[tuple[float, float]], height_left: float, height_right: float) -> list[tuple[float, float]]:
    """A thinned longest chain of pairs that ascends on both sides, from the top to the bottom of each."""
    chain = [(0.0, 0.0)]
    for a, b in _longest_ascending(sorted(set(points))):
        if min(a - chain[-1][0], b - chain[-1][1], height_left - a, height_right - b) >= _ANCHOR_GAP:
            chain.append((a, b))
    return [*chain, (height_left, height_right)]


def _longest_ascending(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Longest subsequence whose second numbers ascend strictly, by patience sorting."""
    ends: list[float] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(points):
        pile = bisect_left(ends, value)
        ends[pile : pile + 1] = [value]
        last[pile : pile + 1] = [index]
        before.append(last[pile - 1] if pile else -1)
    chain, index = [], last[-1] if last else -1
    while index >= 0:
        chain.append(points[index])
        index = before[index]
    return chain[::-1]


def _merge(anchors: list[tuple[float, float]]) -> tuple[list[float], list[float], list[float]]:
    """Per side the old heights of the anchors, and their common new heights: each gap is the larger of the two."""
    merged = [0.0]
    for (a0, b0), (a1, b1) in pairwise(anchors):
        merged.append(merged[-1] + max(a1 - a0, b1 - b0))
    return [a for a, _ in anchors], [b for _, b in anchors], merged


def _stretched(placement: Placement, old: list[float], new: list[float]) -> Placement:
    return placement.mapped(interpolate(old, new), height=new[-1])


def interpolate(old: Sequence[float], new: Sequence[float]) -> Callable[[float], float]:
    """The continuous function that is linear between the given points and a shift outside them."""

    def move(y: float) -> float:
        index = bisect_right(old, y)
        if index == 0 or index == len(old):
            end = max(index - 1, 0)
            return y + new[end] - old[end]
        span = old[index] - old[index - 1]
        return new[index - 1] + (new[index] - new[index - 1]) * (y - old[index - 1]) / span

    return move


def cuts(sides: Sequence[Placement], count: int) -> list[float]:
    """Heights at which to fold into that many columns: near equal ones, where the fewest edges cross."""
    height = max((side.height for side in sides), default=0.0)
    cost = _crossings(sides)
    chosen = []
    for index in range(1, count):
        ideal, reach = height * index / count, height / count / 5
        candidates = [ideal + reach * step / 40 for step in range(-40, 41)]
        chosen.append(min(candidates, key=lambda y: cost(y) + _FAR * abs(y - ideal) / reach))
    return chosen


def _crossings(sides: Sequence[Placement]) -> Callable[[float], int]:
    """How many edges a horizontal cut would meet, counting a box that would stick out as three."""
    ends = [(points[0][1], points[-1][1]) for side in sides for points in side.routes.values()]
    ends += [(top, top + h) for side in sides for _, top, _, h in side.boxes.values()] * 3
    tops, bottoms = sorted(map(min, ends)), sorted(map(max, ends))
    return lambda y: bisect_left(tops, y) - bisect_right(bottoms, y)
