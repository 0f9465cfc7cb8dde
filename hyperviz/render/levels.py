"""The topological level of every node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence


def levels(names: Iterable[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Each name's level, given producers before consumers. A name without producers stands just above its first consumer."""
    producers, consumers = defaultdict(list), defaultdict(list)
    for start, end in edges:
        producers[end].append(start)
        consumers[start].append(end)
    level: dict[str, int] = {}
    for name in names:
        level[name] = 1 + max((level.get(producer, 0) for producer in producers[name]), default=0)
    for name in list(level):
        if not producers[name] and consumers[name]:
            level[name] = min(level[consumer] for consumer in consumers[name]) - 1
    return level
