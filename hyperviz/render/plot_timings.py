"""Timings as a figure: every round, the medians with their intervals, and what may be concluded."""

from __future__ import annotations

import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hyperviz.render.labels import cut
from hyperviz.render.numbers import milliseconds, plural, scaled
from hyperviz.render.palette import HUES, Theme, mix
from hyperviz.render.plot_style import axes_of, foot, head, quiet, say, theme_named
from hyperviz.snapshot import Ratio, Timing, Timings

_ROW, _TOP, _LABELS, _TIMES, _RATIOS = 0.66, 0.95, 2.35, 4.6, 3.6
_MARKS = "os^DvP*X"


def plot_timings(timings: Timings, *, theme: str = "light") -> Figure:
    """A figure for a slide.

    Left, each candidate's rounds as dots above its median and the median's interval, from zero. Right, how much faster each is than the
    first, with the interval of the ratio, and in words what that shows: "no difference shown" where the interval holds 1.

    Args:
        timings: at least one candidate.
        theme: ``"light"`` or ``"dark"``.

    Raises:
        ValueError: there is no candidate, or the theme is unknown.
    """
    colors = theme_named(theme)
    if not timings.timings:
        raise ValueError("timings must hold at least one candidate to be drawn, got none")
    foots = _environment(timings)
    rows, low = len(timings.timings) * _ROW, 0.75 + 0.16 * len(foots)
    figure = Figure(figsize=(_LABELS + _TIMES + _RATIOS + 0.6, _TOP + rows + low), facecolor=colors.paper)
    rounds = len(timings.timings[0].samples_ms)
    head(figure, "Time of one step", f"medians of {plural(rounds, 'interleaved round')}, {timings.confidence:.0%} intervals", colors)
    left = axes_of(figure, _LABELS, low, _TIMES, rows, colors)
    right = axes_of(figure, _LABELS + _TIMES + 0.35, low, _RATIOS, rows, colors)
    ratios = {timing.name: timings.ratio(timings.timings[0].name, timing.name) for timing in timings.timings[1:]}
    _draw_times(left, timings, colors)
    _draw_ratios(right, timings, ratios, colors)
    foot(figure, foots, colors)
    return figure


def _environment(timings: Timings) -> list[str]:
    words = " · ".join(f"{name}: {value}" for name, value in timings.environment.items())
    return textwrap.wrap(words, 150)[:4]


def _draw_times(axes: Axes, timings: Timings, theme: Theme) -> None:
    count = len(timings.timings)
    longest = max(max((*timing.samples_ms, timing.high_ms), default=0.0) for timing in timings.timings)
    axes.set_xlim(0, longest * 1.04 or 1.0)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_xlabel("milliseconds, from 0", color=quiet(theme), fontsize=9)
    for row, timing in enumerate(timings.timings):
        _draw_candidate(axes, row, timing, _color(row, theme), theme)


def _draw_candidate(axes: Axes, row: int, timing: Timing, color: str, theme: Theme) -> None:
    rounds = len(timing.samples_ms)
    # Rounds run downwards, so that a drift during the run shows as a slope.
    heights = [row - 0.36 + 0.36 * (index + 0.5) / rounds for index in range(rounds)]
    axes.plot(timing.samples_ms, heights, _MARKS[row % len(_MARKS)], color=color, alpha=0.5, markersize=3.5, markeredgewidth=0)
    axes.plot([timing.low_ms, timing.high_ms], [row + 0.14] * 2, color=color, linewidth=5, solid_capstyle="butt", alpha=0.55)
    axes.plot([timing.median_ms] * 2, [row + 0.02, row + 0.26], color=theme.ink, linewidth=2.2, solid_capstyle="butt")
    place = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
    say(axes, -0.03, row - 0.13, cut(timing.name, 16), theme.ink, 12, weight="bold", **place)
    memory = "" if timing.peak_bytes is None else f" · peak {scaled(timing.peak_bytes, 'B')}"
    say(axes, -0.03, row + 0.2, milliseconds(timing.median_ms) + memory, quiet(theme), 9.5, **place)


def _draw_ratios(axes: Axes, timings: Timings, ratios: dict[str, Ratio], theme: Theme) -> None:
    first = timings.timings[0].name
    ends = [1.0, *(end for ratio in ratios.values() for end in (ratio.low, ratio.high))]
    reach = max(max(ends) / 1.0, 1.0 / min(ends), 1.1)
    axes.set_xscale("log")
    axes.set_xlim(1 / reach**1.15, reach**1.15)
    axes.set_ylim(len(timings.timings) - 0.5, -0.5)
    ticks = _ticks(reach)
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    axes.axvline(1, color=theme.faint, linewidth=1.5)
    axes.set_xlabel(f"times as fast as {cut(first, 24)}", color=quiet(theme), fontsize=9, parse_math=False)
    for row, timing in enumerate(timings.timings):
        if timing.name not in ratios:
            place = {"transform": axes.get_yaxis_transform(), "va": "center"}
            say(axes, 0.03, row, "baseline", quiet(theme), 9.5, **place)
            continue
        _draw_ratio(axes, row, ratios[timing.name], _color(row, theme), theme)


def _draw_ratio(axes: Axes, row: int, ratio: Ratio, color: str, theme: Theme) -> None:
    axes.plot([ratio.low, ratio.high], [row + 0.14] * 2, color=color, linewidth=5, solid_capstyle="butt", alpha=0.55)
    axes.plot([ratio.median] * 2, [row + 0.02, row + 0.26], color=theme.ink, linewidth=2.2, solid_capstyle="butt")
    words = f"{ratio.median:.2f}x  [{ratio.low:.2f}, {ratio.high:.2f}]"
    place = {"transform": axes.get_yaxis_transform(), "va": "center"}
    say(axes, 0.03, row - 0.2, words, theme.ink, 10.5, weight="bold", ha="left", **place)
    say(axes, 0.97, row - 0.2, cut(ratio.conclusion, 30), quiet(theme), 9.5, ha="right", **place)


def _ticks(reach: float) -> list[float]:
    """Round factors on both sides of 1 that fit."""
    steps = [step for step in (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100) if step <= reach**1.1][-1:]
    return sorted({1.0, *steps, *(round(1 / step, 2) for step in steps)})


def _color(row: int, theme: Theme) -> str:
    hue = mix(HUES[(row - 1) % len(HUES)], theme.ink, 0.85)
    return quiet(theme) if row == 0 else hue
