"""The lanes of a timeline: bars that can be told apart, stripes where compute stands still, and names where they fit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from hyperviz.render.labels import cut
from hyperviz.render.palette import HUES, Theme, mix, paint, paint_index
from hyperviz.render.plot_style import say
from hyperviz.snapshot import Span, Timeline

HATCH = "/////"
_KINDS = {
    "all_gather": ("G", HUES[4], "all-gather"),
    "reduce_scatter": ("S", HUES[1], "reduce-scatter"),
    "all_reduce": ("R", HUES[3], "all-reduce"),
    "all_to_all": ("A", HUES[2], "all-to-all"),
    "offload": ("O", HUES[0], "offload to host"),
    "reload": ("B", HUES[5], "back from host"),
}
_OTHER = ("C", HUES[6], "other communication")
_CHARACTER = 0.095
"""Inches that a letter takes, to know what fits into a span."""
_FINEST = 0.02
"""Inches below which bars are no longer told apart."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a bar looks like; ``hatch`` is the colour of its stripes, ``""`` for none."""

    fill: str
    edge: str
    hatch: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a lane, in milliseconds."""

    start: float
    end: float
    look: Look


Stretches = Sequence[tuple[float, float]]


def look_of_kind(kind: str, theme: Theme) -> tuple[Look, str, str]:
    """Look, letter and name of a kind of communication."""
    letter, hue, words = _KINDS.get(kind, _OTHER)
    return Look(mix(hue, theme.paper, 0.55), mix(hue, theme.ink, 0.7)), letter, words


def look_of_standing(theme: Theme) -> Look:
    """The look of time in which compute stands still."""
    return Look(mix(theme.alarm, theme.paper, 0.12), theme.alarm, theme.alarm)


def standing_of(timeline: Timeline) -> Stretches:
    """When compute stands still: stretches in order that do not overlap."""
    return sorted((span.start_ms, span.end_ms) for span in timeline.spans if span.kind == "exposed" and span.end_ms is not None)


def draw_lane(
    axes: Axes, row: int, spans: Sequence[Span], kinds: Mapping[str, str], standing: Stretches, per_inch: float, theme: Theme
) -> None:
    """Draws one lane.

    Args:
        axes: whose y axis counts rows, downwards.
        row: of this lane.
        spans: of this lane, in the order of time.
        kinds: launch → kind of the collective.
        standing: when compute stands still.
        per_inch: milliseconds per inch.
        theme: colours.
    """
    bars: list[Bar] = []
    stripes: list[Bar] = []
    for span in spans:
        look, label = look_of(span, kinds, theme)
        if span.end_ms is None:
            say(axes, span.start_ms, row + 0.5, "?", theme.alarm, 11, weight="bold", ha="left", va="center")
            continue
        bars.append(Bar(span.start_ms, span.end_ms, look))
        if span.kind == "communication":
            stripes += [Bar(start, end, Look("none", "none", theme.alarm)) for start, end in common(span.start_ms, span.end_ms, standing)]
        if words := _fitting(label, int((span.end_ms - span.start_ms) / per_inch / _CHARACTER)):
            middle = (span.start_ms + span.end_ms) / 2
            _label(axes, middle, row, words, theme, any(bar.start <= middle <= bar.end for bar in stripes[-2:]))
    for bar in (*coarse(bars, _FINEST * per_inch), *coarse(stripes, _FINEST * per_inch)):
        _draw(axes, row, bar, per_inch)


def coarse(bars: Sequence[Bar], resolution: float) -> list[Bar]:
    """Bars as they are, but those finer than the resolution as a raster in which each cell looks like what fills most of it."""
    cells: dict[int, dict[Look, float]] = {}
    for bar in bars:
        if bar.end - bar.start < resolution:
            filled = cells.setdefault(int((bar.start + bar.end) / 2 / resolution), {})
            filled[bar.look] = filled.get(bar.look, 0.0) + bar.end - bar.start
    raster: list[Bar] = []
    for cell, filled in sorted(cells.items()):
        look, start, end = max(filled, key=filled.__getitem__), cell * resolution, (cell + 1) * resolution
        if raster and raster[-1].look == look and raster[-1].end >= start - resolution / 2:
            raster[-1] = Bar(raster[-1].start, end, look)
        else:
            raster.append(Bar(start, end, look))
    return [*raster, *(bar for bar in bars if bar.end - bar.start >= resolution)]


def common(start: float, end: float, standing: Stretches) -> Iterator[tuple[float, float]]:
    """The parts of the stretches that lie between two moments."""
    first = bisect_right(standing, start, key=lambda stretch: stretch[1])
    last = bisect_left(standing, end, key=lambda stretch: stretch[0])
    for since, until in standing[first:last]:
        yield max(since, start), min(until, end)


def look_of(span: Span, kinds: Mapping[str, str], theme: Theme) -> tuple[Look, str]:
    """Look and label of a span; ``kinds`` maps a launch to the kind of its collective."""
    if span.kind == "exposed":
        return look_of_standing(theme), ""
    if span.kind == "communication":
        return look_of_kind(kinds.get(span.node, ""), theme)[:2]
    number = span.node.removeprefix("region_")
    if number != span.node and number.isdecimal():
        colors = paint(paint_index(int(number)), theme)
        return Look(colors.fill, colors.line), number
    return Look(mix(theme.faint, theme.paper, 0.5), theme.faint), span.node


def _fitting(label: str, room: int) -> str:
    """The label if it fits, else as much of a long one as says something, else nothing."""
    if len(label) <= room:
        return label
    return cut(label, room) if room >= 6 else ""


def _label(axes: Axes, x: float, row: int, words: str, theme: Theme, striped: bool) -> None:
    # Words on stripes are not read: they get a ground of their own.
    ground = {"facecolor": theme.paper, "edgecolor": "none", "boxstyle": "round,pad=0.12", "alpha": 0.85} if striped else None
    say(axes, x, row + 0.5, words, theme.ink, 8, ha="center", va="center", bbox=ground, clip_on=True)


def _draw(axes: Axes, row: int, bar: Bar, per_inch: float) -> None:
    look = bar.look
    outline = 0.6 if not look.hatch and (bar.end - bar.start) / per_inch > 2 * _FINEST else 0.0
    style = {"facecolor": look.fill, "edgecolor": look.hatch or look.edge, "linewidth": outline, "hatch": HATCH if look.hatch else None}
    axes.add_patch(Rectangle((bar.start, row + 0.1), bar.end - bar.start, 0.8, **style))  # pyright: ignore[reportArgumentType]
