"""The legend: one sample of everything that a picture may hold, in as many rows as fit."""

from __future__ import annotations

from dataclasses import dataclass

from hyperviz.render.labels import cells
from hyperviz.render.palette import badge, paint_index

SAMPLE = (34.0, 22.0)
_ENTRIES = (
    ("compute", "", 0, "compiled, region 0"),
    ("compute", "", 1, "region 1, …"),
    ("compute", "", None, "not compiled"),
    ("eager", "", None, "stays eager"),
    ("collective", "", None, "collective"),
    ("wait", "", None, "wait"),
    ("effect", "", None, "side effect"),
    ("output", "", None, "output"),
    ("placeholder", "parameter", None, "parameter"),
    ("placeholder", "buffer", None, "buffer"),
    ("placeholder", "input", None, "input"),
    ("saved", "", None, "saved value"),
)
_PAIR = ("pair", "", None, "a collective and its wait")


@dataclass(frozen=True, slots=True)
class Entry:
    """One sample with its words.

    Attributes:
        role: as a node's, ``"saved"`` for the line of a saved value, ``"pair"`` for that from a launch to its wait.
        kind: as a placeholder's.
        region: its region's number, or None.
        words: what it means.
        x: left end of the sample.
        y: top of the sample.
        scale: of sample and words: 1 is a node's own size.
    """

    role: str
    kind: str
    region: int | None
    words: str
    x: float
    y: float
    scale: float

    @property
    def paint(self) -> int | None:
        """Index into the palette, or None without a region."""
        return None if self.region is None else paint_index(self.region)

    @property
    def badge(self) -> str:
        """What is written on the sample."""
        return badge(self.role, self.region)


def legend(left: float, top: float, width: float, scale: float, *, pairs: bool) -> tuple[tuple[Entry, ...], float]:
    """The entries, and the height that they take; the line of a pair only where the picture holds ``pairs``."""
    entries, x, y, row = [], left, top, (SAMPLE[1] + 10) * scale
    for role, kind, region, words in (*_ENTRIES, *([_PAIR] if pairs else [])):
        needed = (SAMPLE[0] + 28 + cells(words) * 6.4) * scale
        if x > left and x + needed > left + width:
            x, y = left, y + row
        entries.append(Entry(role, kind, region, words, x, y, scale))
        x += needed
    return tuple(entries), y + row - top
