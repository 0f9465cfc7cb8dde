"""What every rank found as a figure: eager and compiled of each on one scale, the slowest marked, its verdict beside it."""

from __future__ import annotations

import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hyperviz.render.numbers import milliseconds, plural
from hyperviz.render.palette import HUES, Theme, mix
from hyperviz.render.plot_equality import MARKS
from hyperviz.render.plot_style import axes_of, foot, head, quiet, say, theme_named
from hyperviz.snapshot import RankReports, RankResult, Timing

MAX_ROWS = 32
"""More ranks than anyone compares by eye: the slowest are drawn, and the rest counted."""
_ROW, _TOP, _LABELS, _TIMES, _WORDS = 0.62, 0.95, 1.5, 6.2, 2.9


def plot_ranks(reports: RankReports, *, theme: str = "light") -> Figure:
    """A figure for a slide.

    One row for each rank: the median of eager (a ring) and of compiled (a disc) with their intervals, from zero; beside it how much
    faster compiled is, and what the comparison concluded. Above, where it ran; below, where ranks disagree.

    Args:
        reports: at least one rank.
        theme: ``"light"`` or ``"dark"``.

    Raises:
        ValueError: there is no rank, or the theme is unknown.
    """
    colors = theme_named(theme)
    if not reports.ranks:
        raise ValueError("reports must hold at least one rank to be drawn, got none")
    shown = _shown(reports)
    foots = _foots(reports, len(shown))
    rows, low = len(shown) * _ROW, 0.75 + 0.16 * len(foots)
    figure = Figure(figsize=(_LABELS + _TIMES + _WORDS + 0.4, _TOP + rows + low), facecolor=colors.paper)
    first = reports.ranks[0]
    names = f"{first.eager.name} ○, {first.compiled.name} ●"
    how = f"{names}, medians of {plural(len(first.eager.samples_ms), 'round')}, {first.timings.confidence:.0%} intervals"
    head(figure, "Time of one step on every rank", f"{reports.where} · {how}", colors)
    axes = axes_of(figure, _LABELS, low, _TIMES, rows, colors)
    longest = max(max(one.eager.high_ms, one.compiled.high_ms) for one in shown)
    axes.set_xlim(0, longest * 1.05 or 1.0)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel("milliseconds, from 0", color=quiet(colors), fontsize=9)
    for row, one in enumerate(shown):
        _draw_rank(axes, row, one, one is reports.slowest and reports.num_ranks > 1, colors)
    foot(figure, foots, colors)
    return figure


def _shown(reports: RankReports) -> list[RankResult]:
    slowest = sorted(reports.ranks, key=lambda one: -one.compiled.median_ms)[:MAX_ROWS]
    return [one for one in reports.ranks if one in slowest]


def _foots(reports: RankReports, num_shown: int) -> list[str]:
    hidden = reports.num_ranks - num_shown
    counted = [f"{plural(hidden, 'faster rank')} not drawn"] if hidden else []
    words = [str(reports.plan), *counted, *reports.disagreements, *reports.notes]
    return [line for sentence in words for line in textwrap.wrap(sentence, 150)][:8]


def _draw_rank(axes: Axes, row: int, one: RankResult, slowest: bool, theme: Theme) -> None:
    _draw_timing(axes, row - 0.14, one.eager, quiet(theme), theme.panel)
    hue = mix(HUES[0], theme.ink, 0.85)
    _draw_timing(axes, row + 0.14, one.compiled, hue, hue)
    left = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
    say(axes, -0.03, row - (0.13 if slowest else 0), f"rank {one.rank}", theme.ink, 12, weight="bold", **left)
    if slowest:
        say(axes, -0.03, row + 0.2, "◀ slowest", theme.alarm, 9.5, weight="bold", **left)
    right = {"transform": axes.get_yaxis_transform(), "ha": "left", "va": "center"}
    ratio = one.ratio
    say(axes, 1.03, row - 0.14, f"{ratio.median:.2f}x  [{ratio.low:.2f}, {ratio.high:.2f}]", theme.ink, 10.5, weight="bold", **right)
    times = f"{milliseconds(one.eager.median_ms)} → {milliseconds(one.compiled.median_ms)}"
    say(axes, 1.03, row + 0.18, f"{times} · {MARKS[one.equality.verdict][2]}", quiet(theme), 9.5, **right)


def _draw_timing(axes: Axes, height: float, timing: Timing, color: str, fill: str) -> None:
    axes.plot([timing.low_ms, timing.high_ms], [height] * 2, color=color, linewidth=4, solid_capstyle="butt", alpha=0.55)
    axes.plot([timing.median_ms], [height], "o", color=color, markerfacecolor=fill, markersize=7, markeredgewidth=1.6)
