"""Invisible edges that keep the unconnected pieces of a graph near where they run, instead of all in the first row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

_ROW = 6


def ties(calls: Sequence[str], loose: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Edges that join the pieces into one.

    Args:
        calls: names in execution order.
        loose: names that nothing reads and that read nothing, which stand in rows above everything.
        edges: what joins the others.
    """
    pieces = _Pieces()
    for start, end in edges:
        pieces.join(start, end)
    joined = []
    for before, name in pairwise(calls):
        if pieces.join(before, name):
            joined.append((before, name))
    below = [*loose[_ROW:], *([calls[0]] * _ROW if calls else [])]
    return [*joined, *zip(loose, below, strict=False)]


class _Pieces:
    """Which names hang together, by union-find."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def join(self, first: str, second: str) -> bool:
        """Joins two pieces; False where they were one already."""
        first, second = self._root(first), self._root(second)
        self._parent[first] = second
        return first != second

    def _root(self, name: str) -> str:
        parent = self._parent.setdefault(name, name)
        while parent != self._parent[parent]:
            self._parent[name] = parent = self._parent[parent]
        return parent
