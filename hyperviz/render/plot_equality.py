"""An equality as a figure: every output's verdict, how far off it is at most, and how much of it differs."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hyperviz.render.labels import cut, tail
from hyperviz.render.numbers import plural, scientific
from hyperviz.render.palette import Theme
from hyperviz.render.plot_style import axes_of, foot, head, quiet, say, theme_named
from hyperviz.snapshot import Equality, OutputEquality

_ROW, _TOP, _LABELS, _AXIS, _WORDS = 0.235, 0.9, 3.2, 3.6, 3.4
_MAX_ROWS = 44
_UNDEFINED = 0.9
"""How far behind the axis an output stands whose difference has no unit in the last place."""
MARKS = {
    "bitwise": ("o", "#009E73", "equal bit for bit"),
    "rounding": ("^", "#E69F00", "rounding"),
    "random": ("D", "#56B4E9", "random by design"),
    "structural": ("s", "#CC79A7", "another structure"),
    "wrong": ("X", "#D55E00", "wrong"),
}
"""Verdict → mark, colour, words; from the mildest to the worst."""


def plot_equality(equality: Equality, *, theme: str = "light") -> Figure:
    """A figure for a slide: one row for each output, its verdict as a mark of its own shape at the largest difference in ulp.

    Where there are more outputs than a slide holds, the worst are shown, and one line counts the others.

    Args:
        equality: with any number of outputs.
        theme: ``"light"`` or ``"dark"``.

    Raises:
        ValueError: the theme is unknown.
    """
    colors = theme_named(theme)
    rows, rest = _rows(equality.outputs)
    foots = [*([rest] if rest else []), *_stated(equality)]
    height, low = max(len(rows), 1) * _ROW, 0.8 + 0.16 * len(foots)
    figure = Figure(figsize=(_LABELS + _AXIS + _WORDS, _TOP + height + low), facecolor=colors.paper)
    first, second = equality.labels
    head(figure, f"{cut(second, 30)} against {cut(first, 30)}: {MARKS[equality.verdict][2]}", _counts(equality.outputs), colors)
    axes = axes_of(figure, _LABELS, low, _AXIS, height, colors)
    _scale(axes, rows, colors)
    for row, output in enumerate(rows):
        _draw_output(axes, row, output, colors)
    foot(figure, foots, colors)
    return figure


def _counts(outputs: Sequence[OutputEquality]) -> str:
    return f"{plural(len(outputs), 'output')}: {_tally(outputs)}" if outputs else "no outputs"


def _tally(outputs: Sequence[OutputEquality]) -> str:
    counts = Counter(output.verdict for output in outputs)
    return ", ".join(f"{counts[verdict]} {words}" for verdict, (_, _, words) in MARKS.items() if counts[verdict])


def _stated(equality: Equality) -> list[str]:
    """The choices that the numbers rest on, and the notes."""
    choices = f"seed {equality.seed} · NaN compared as {equality.nan} · signed zeros compared as {equality.zeros}"
    return [choices, *(line for note in equality.notes for line in textwrap.wrap(note, 150))][:6]


def _rows(outputs: Sequence[OutputEquality]) -> tuple[list[OutputEquality], str]:
    """The outputs that are shown, in their order, and what is said of the others."""
    if len(outputs) <= _MAX_ROWS:
        return list(outputs), ""
    worst = list(MARKS)
    ranked = sorted(range(len(outputs)), key=lambda i: (worst.index(outputs[i].verdict), outputs[i].max_ulp or 0), reverse=True)
    shown, hidden = sorted(ranked[:_MAX_ROWS]), [outputs[i] for i in ranked[_MAX_ROWS:]]
    return [outputs[i] for i in shown], f"{len(hidden)} more, none of them worse: {_tally(hidden)}."


def _scale(axes: Axes, rows: Sequence[OutputEquality], theme: Theme) -> None:
    """A logarithmic axis that begins with a place for 0 and ends with one for "undefined"."""
    largest = max((output.max_ulp or 0 for output in rows), default=0)
    decades = max(2, math.ceil(math.log10(largest + 1)) if largest else 0)
    step = max(1, math.ceil(decades / 6))
    ticks = list(range(0, decades + 1, step))
    axes.set_xlim(-1.6, decades + 1.3)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    labels = ["0", *(f"{10**tick:,}" if tick < 5 else f"1e{tick}" for tick in ticks)]
    undefined = [decades + _UNDEFINED] if any(output.max_ulp is None for output in rows) else []
    axes.set_xticks([-1, *ticks, *undefined], [*labels, *(["none"] if undefined else [])])
    axes.axvline(-0.5, color=theme.faint, linewidth=1, linestyle=(0, (2, 2)))
    axes.set_xlabel("largest difference, in units of the last place", color=quiet(theme), fontsize=9)


def _draw_output(axes: Axes, row: int, output: OutputEquality, theme: Theme) -> None:
    mark, color, _ = MARKS[output.verdict]
    place = {"transform": axes.get_yaxis_transform(), "va": "center"}
    if output.max_ulp is None:
        x = axes.get_xlim()[1] - (1.3 - _UNDEFINED)
    else:
        x = -1.0 if output.max_ulp == 0 else math.log10(output.max_ulp)
        axes.plot([-1.6, x], [row, row], color=color, linewidth=1.2, alpha=0.5)
    axes.plot([x], [row], mark, color=color, markersize=7, markeredgecolor=theme.ink, markeredgewidth=0.7, clip_on=False)
    say(axes, -0.02, row, tail(output.name, 40), theme.ink, 8.5, ha="right", **place)
    say(axes, 1.02, row, _words(output), quiet(theme), 8.5, ha="left", **place)


def _words(output: OutputEquality) -> str:
    if output.verdict == "bitwise":
        return f"bitwise · {output.total:,} element{'' if output.total == 1 else 's'}" if output.total else "bitwise"
    if not output.total or output.max_abs is None:
        return f"{output.verdict} · {tail(output.reason, 44)}" if output.reason else output.verdict
    return f"{output.verdict} · {output.mismatched:,} of {output.total:,} differ, by at most {scientific(output.max_abs)}"
