"""Colours, outlines and patterns: the one place that knows what a role and a region look like."""

from __future__ import annotations

from dataclasses import dataclass

# Okabe and Ito's colours, which people with any of the common colour-vision deficiencies can tell apart
# (https://jfly.uni-koeln.de/color/), ordered so that neighbours differ in lightness too.
HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
PATTERNS = ("plain", "stripes", "dots", "bars")
NUM_PAINTS = len(HUES) * len(PATTERNS)
BADGES = {"collective": "»", "wait": "«", "effect": "!"}
"""What stands before a node's name, besides its region's number, so that a role is never told by colour alone."""


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one theme.

    Attributes:
        paper: the background.
        panel: the background of a phase.
        ink: text and strong outlines.
        faint: edges, weak outlines, secondary text.
        neutral: the fill of what has no region.
        alarm: the outline of effects.
        saved: saved values.
    """

    paper: str
    panel: str
    ink: str
    faint: str
    neutral: str
    alarm: str
    saved: str

    @property
    def hatch(self) -> str:
        """The colour of the stripes on an effect, on which its name can still be read."""
        return mix(self.alarm, self.neutral, 0.35)


LIGHT = Theme("#ffffff", "#f5f6f8", "#1b1f24", "#8a929c", "#e6e9ed", "#b3261e", "#7a4fbf")
DARK = Theme("#12151a", "#1b1f26", "#eceff3", "#7d8794", "#2e343d", "#ff8a80", "#b79cf0")
THEMES = {"light": LIGHT, "dark": DARK}


@dataclass(frozen=True, slots=True)
class Paint:
    """What one region looks like in one theme.

    Attributes:
        fill: the ground colour.
        mark: the colour of the pattern's strokes.
        line: the outline.
        pattern: one of ``PATTERNS``.
    """

    fill: str
    mark: str
    line: str
    pattern: str


def paint_index(region: int) -> int:
    """The paint of the region with that number; paints repeat after ``NUM_PAINTS`` regions, the number stays."""
    return region % NUM_PAINTS


def paint(index: int, theme: Theme) -> Paint:
    """The paint with that index: hues change first, patterns when the hues are through."""
    hue, pattern = HUES[index % len(HUES)], PATTERNS[index // len(HUES)]
    if theme is DARK:
        return Paint(mix(hue, theme.paper, 0.43), mix(hue, theme.paper, 0.63), mix(hue, "#ffffff", 0.8), pattern)
    return Paint(mix(hue, theme.paper, 0.42), mix(hue, theme.paper, 0.7), mix(hue, "#000000", 0.75), pattern)


def badge(role: str, region: int | None) -> str:
    """What stands before a node's name: its role's sign, then its region's number."""
    return BADGES.get(role, "") + ("" if region is None else str(region))


def mix(first: str, second: str, part: float) -> str:
    """``part`` of the first colour and the rest of the second, as ``#rrggbb``."""
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a * part + b * (1 - part)):02x}" for a, b in pairs)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(int(color[start : start + 2], 16) for start in (1, 3, 5))
