"""Which module stands at which height: brackets beside the nodes, one for each block of the model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from hyperviz.render.fold import Panel
from hyperviz.render.parts import is_pill
from hyperviz.render.placement import Box
from hyperviz.snapshot import NodeSnapshot

_SHORTEST = 40.0


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of a panel whose nodes belong mostly to one module.

    Attributes:
        module: path of the module, down to its first number, as in ``"blocks.3"``.
        x: of the bracket; its words stand to the left of it.
        top: of the first node.
        bottom: of the last node.
    """

    module: str
    x: float
    top: float
    bottom: float


def bands(nodes: Iterable[NodeSnapshot], boxes: Mapping[str, Box], panels: Sequence[Panel]) -> tuple[Band, ...]:
    """The brackets of every panel, from its top to its bottom."""
    found = []
    for panel in panels:
        left, top, width, height = panel.box
        rows = defaultdict(list)
        for node in nodes:
            x, y, _, h = boxes[node.name]
            if not is_pill(node) and left <= x <= left + width and top <= y <= top + height:
                rows[y, y + h].append(block(node.module_path))
        mostly = [(span, Counter(modules).most_common(1)[0][0]) for span, modules in sorted(rows.items())]
        for module, run in groupby(mostly, key=lambda row: row[1]):
            spans = [span for span, _ in run]
            if module and spans[-1][1] - spans[0][0] >= _SHORTEST:
                found.append(Band(module, left + 28, spans[0][0], spans[-1][1]))
    return tuple(found)


def block(module_path: str) -> str:
    """The module's path down to its first number; without a number, its first part.

    >>> block("transformer.h.3.attn.c_attn")
    'transformer.h.3'
    """
    parts = module_path.split(".")
    for index, part in enumerate(parts):
        if part.isdigit():
            return ".".join(parts[: index + 1])
    return parts[0]
