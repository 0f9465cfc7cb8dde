"""Timelines as a figure: lanes of compute and communication, exposed time hatched, memory below; several on one scale."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hyperviz.render.labels import cut
from hyperviz.render.numbers import duration, scaled
from hyperviz.render.palette import Theme, mix
from hyperviz.render.plot_style import axes_of, foot, head, quiet, say, theme_named
from hyperviz.render.timeline_lanes import HATCH, draw_lane, look_of_kind, look_of_standing, standing_of
from hyperviz.snapshot import Timeline

_WIDTH, _LEFT, _RIGHT, _TOP = 12.6, 1.75, 0.35, 0.62
_TITLE, _LABEL, _LANE, _GAP, _MEMORY, _BETWEEN = 0.42, 0.2, 0.44, 0.1, 0.85, 0.14


def plot_timeline(timelines: Timeline | Sequence[Timeline], *, theme: str = "light") -> Figure:
    """A figure for a slide.

    For each timeline, from the top: compute, with regions in their colours and numbers and the time in which it stands still hatched; a
    lane for each process group, with the kinds of collectives as colours and letters, and what of each is exposed hatched; the memory
    that the step holds, with its peak, as a band where it depends on what a compiler materialises. All share one scale of time and one
    of memory. What is not known how long it takes is a question mark.

    Args:
        timelines: one, or several to compare, first on top.
        theme: ``"light"`` or ``"dark"``.

    Raises:
        ValueError: there is no timeline, or the theme is unknown.
    """
    colors = theme_named(theme)
    shown = [timelines] if isinstance(timelines, Timeline) else list(timelines)
    if not shown:
        raise ValueError("timelines must hold at least one to be drawn, got none")
    notes = _notes(shown)
    low = 0.85 + 0.16 * len(notes)
    labels = list(dict.fromkeys(timeline.label for timeline in shown))
    heights = [_TITLE + (len(labels) > 1) * _LABEL + _LANE * len(timeline.lanes) + _GAP + _MEMORY for timeline in shown]
    figure = Figure(figsize=(_WIDTH, _TOP + sum(heights) + _BETWEEN * (len(shown) - 1) + low), facecolor=colors.paper)
    head(figure, "One step in time", labels[0] if len(labels) == 1 else "measured or estimated, as it stands with each", colors)
    _legend(figure, shown, colors)
    reach = max(max(_end(timeline) for timeline in shown), 1e-9)
    top = max([1, *(size for timeline in shown for size in _sizes(timeline))])
    bottom = figure.get_figheight() - _TOP
    for index, (timeline, height) in enumerate(zip(shown, heights, strict=True)):
        bottom -= height
        _draw(figure, bottom, timeline, reach, top, index == len(shown) - 1, len(labels) > 1, colors)
        bottom -= _BETWEEN
    foot(figure, notes, colors)
    return figure


def _notes(timelines: Sequence[Timeline]) -> list[str]:
    """What every picture must carry: a sentence that holds for all once, one of a single timeline under its name."""
    sentences: dict[str, None] = {}
    for timeline in timelines:
        for note in timeline.notes:
            shared = all(note in other.notes for other in timelines)
            sentences[note if shared else f"{cut(timeline.title or timeline.label, 60)}: {note}"] = None
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, 170)]
    return lines if len(lines) <= 8 else [*lines[:7], f"and {len(lines) - 7} more lines of notes, see the text"]


def _end(timeline: Timeline) -> float:
    return max((span.end_ms if span.end_ms is not None else span.start_ms for span in timeline.spans), default=0.0)


def _sizes(timeline: Timeline) -> list[int]:
    return [point.live_bytes for point in timeline.memory if point.live_bytes is not None]


def _draw(figure: Figure, bottom: float, timeline: Timeline, reach: float, top: int, last: bool, with_label: bool, theme: Theme) -> None:
    width, lanes = _WIDTH - _LEFT - _RIGHT, timeline.lanes
    upper = axes_of(figure, _LEFT, bottom + _MEMORY + _GAP, width, _LANE * len(lanes), theme)
    lower = axes_of(figure, _LEFT, bottom, width, _MEMORY, theme)
    for axes in (upper, lower):
        axes.set_xlim(0, reach * 1.01)
        axes.tick_params(labelbottom=last and axes is lower)
    if last:
        lower.set_xlabel("milliseconds", color=quiet(theme), fontsize=9)
    upper.set_ylim(len(lanes), 0)
    per_inch = reach * 1.01 / width
    place = {"transform": upper.get_yaxis_transform(), "ha": "right", "va": "center"}
    kinds, standing = {one.launch: one.kind for one in timeline.collectives}, standing_of(timeline)
    for row, lane in enumerate(lanes):
        say(upper, -0.012, row + 0.5, cut(lane, 20), theme.ink, 9.5, **place)
        draw_lane(upper, row, [span for span in timeline.spans if span.lane == lane], kinds, standing, per_inch, theme)
    _draw_title(upper, timeline, with_label, theme)
    _draw_memory(lower, timeline, top, theme)


def _draw_title(axes: Axes, timeline: Timeline, with_label: bool, theme: Theme) -> None:
    over = {"transform": axes.transAxes, "va": "bottom"}
    above = 1.04 + with_label * 0.19 / (_LANE * len(timeline.lanes))
    say(axes, 0.0, above, cut(timeline.title or "step", 50), theme.ink, 11.5, weight="bold", ha="left", **over)
    if with_label:
        say(axes, 0.0, 1.04, cut(timeline.label, 100), quiet(theme), 9, ha="left", **over)
    words = f"step {duration(timeline.total_ms)} · exposed {duration(timeline.exposed_ms)} · hidden {duration(timeline.hidden_ms)}"
    say(axes, 1.0, 1.04, words, theme.ink, 10, ha="right", **over)


def _draw_memory(axes: Axes, timeline: Timeline, top: int, theme: Theme) -> None:
    axes.set_ylim(0, top * 1.25)
    place = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
    say(axes, -0.012, top * 0.78, "memory held", theme.ink, 9.5, **place)
    besides = "inputs of unknown size" if timeline.input_bytes is None else f"{scaled(timeline.input_bytes, 'B')} of inputs"
    say(axes, -0.012, top * 0.34, f"besides {besides}", quiet(theme), 7.5, **place)
    known = [point for point in timeline.memory if point.live_bytes is not None and point.least_bytes is not None]
    if len(known) < len(timeline.memory) or not known:
        middle = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        say(axes, 0.5, 0.5, "unknown" if timeline.memory else "nothing", quiet(theme), 10, **middle)
        return
    times = [*(point.at_ms for point in known), _end(timeline)]
    most, least = [point.live_bytes or 0 for point in known], [point.least_bytes or 0 for point in known]
    hue = mix(theme.saved, theme.ink, 0.9)
    axes.fill_between(times, [*least, least[-1]], step="post", color=theme.saved, alpha=0.45, linewidth=0)
    axes.fill_between(times, [*least, least[-1]], [*most, most[-1]], step="post", color=theme.saved, alpha=0.2, linewidth=0)
    axes.step(times, [*most, most[-1]], where="post", color=hue, linewidth=1.2)
    if most != least:
        axes.step(times, [*least, least[-1]], where="post", color=hue, linewidth=0.8, linestyle=(0, (4, 2)))
    _mark_peak(axes, timeline, times, most, theme)


def _mark_peak(axes: Axes, timeline: Timeline, times: Sequence[float], most: Sequence[int], theme: Theme) -> None:
    index = max(range(len(most)), key=most.__getitem__)
    words = f"peak {scaled(timeline.peak_bytes, 'B')}"
    if timeline.least_peak_bytes != timeline.peak_bytes:
        words = f"peak between {scaled(timeline.least_peak_bytes, 'B')} and {scaled(timeline.peak_bytes, 'B')}"
    words += f" at {cut(timeline.peak_node, 34)}" if timeline.peak_node else ""
    axes.plot([times[index]], [most[index]], "v", color=theme.ink, markersize=5)
    late = times[index] > 0.6 * axes.get_xlim()[1]
    say(
        axes,
        times[index],
        most[index] * 1.04,
        f"{words}  " if late else f"  {words}",
        theme.ink,
        9,
        ha="right" if late else "left",
        va="bottom",
    )


def _legend(figure: Figure, timelines: Sequence[Timeline], theme: Theme) -> None:
    """What the signs mean that are in this picture, at the upper right corner."""
    kinds = dict.fromkeys(one.kind for timeline in timelines for one in timeline.collectives)
    entries = dict.fromkeys((look, f"{letter} {words}") for look, letter, words in (look_of_kind(kind, theme) for kind in kinds))
    if any(span.kind == "exposed" for timeline in timelines for span in timeline.spans):
        entries[look_of_standing(theme), "compute stands still"] = None
    width, height = figure.get_figwidth(), figure.get_figheight()
    x, y = width - _RIGHT - sum(0.35 + 0.078 * len(words) for _, words in entries), 1 - 0.32 / height
    for look, words in entries:
        style = {"facecolor": look.fill, "edgecolor": look.edge, "linewidth": 0.6, "hatch": HATCH if look.hatch else None}
        place = Rectangle((x / width, y - 0.065 / height), 0.16 / width, 0.13 / height, transform=figure.transFigure, **style)  # pyright: ignore
        figure.add_artist(place)
        figure.text((x + 0.22) / width, y, words, fontsize=8.5, color=quiet(theme), va="center", parse_math=False)
        x += 0.35 + 0.078 * len(words)
