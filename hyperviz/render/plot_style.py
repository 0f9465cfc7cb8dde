"""What all plots share: themes, words that are never read as mathematics, quiet axes. No pyplot, so no state of the process changes."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hyperviz.render.glyphs import SANS, known
from hyperviz.render.labels import clean
from hyperviz.render.palette import THEMES, Theme


def theme_named(name: str) -> Theme:
    """The theme; raises ``ValueError`` for an unknown name."""
    if name not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(THEMES)}, got {name!r}")
    return THEMES[name]


def say(axes: Axes, x: float, y: float, words: str, color: str, size: float = 10, **style: Any) -> None:
    """Writes words at a place of the axes' data, or where ``style["transform"]`` says."""
    axes.text(x, y, drawable(words), color=color, fontsize=size, family=SANS, parse_math=False, **style)


def head(figure: Figure, title: str, subtitle: str, theme: Theme) -> None:
    """Title and subtitle at the upper left corner."""
    height = figure.get_figheight()
    left = 0.2 / figure.get_figwidth()
    for words, size, weight, down in ((title, 15, "bold", 0.15), (subtitle, 10.5, "normal", 0.48)):
        style: dict[str, Any] = {"color": theme.ink, "fontsize": size, "weight": weight, "family": SANS, "parse_math": False}
        figure.text(left, 1 - down / height, drawable(words), va="top", **style)


def foot(figure: Figure, lines: list[str], theme: Theme) -> None:
    """Small sentences at the lower left corner."""
    words = drawable("\n".join(lines))
    left, low = 0.2 / figure.get_figwidth(), 0.12 / figure.get_figheight()
    figure.text(left, low, words, va="bottom", fontsize=8, color=quiet(theme), family=SANS, parse_math=False, linespacing=1.4)


def axes_of(figure: Figure, left: float, bottom: float, width: float, height: float, theme: Theme) -> Axes:
    """Quiet axes at a place in inches from the lower left corner."""
    w, h = figure.get_size_inches()
    axes = figure.add_axes((left / w, bottom / h, width / w, height / h), facecolor=theme.panel)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=quiet(theme), labelsize=9, length=0, pad=5)
    axes.grid(True, axis="x", color=theme.neutral, linewidth=1)
    axes.set_axisbelow(True)
    axes.set_yticks([])
    return axes


def quiet(theme: Theme) -> str:
    """The colour of secondary words: fainter than ink, and still read easily."""
    return {"#1b1f24": "#57606a"}.get(theme.ink, "#a9b2bd")


def drawable(words: str) -> str:
    """Words of a program as matplotlib can draw them, line breaks kept."""
    return "\n".join(known(clean(line), SANS) for line in words.split("\n"))
