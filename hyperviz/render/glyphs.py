"""Text for matplotlib, in the fonts that it brings along: thousands of words as one artist, with a box for letters the fonts lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from matplotlib.artist import Artist
from matplotlib.font_manager import FontProperties, findfont, get_font

MONO, SANS = "DejaVu Sans Mono", "DejaVu Sans"
_MISSING = "□"


@dataclass(frozen=True, slots=True)
class Words:
    """Text at a place.

    Attributes:
        x: of the baseline's start; for ``upright`` words, of their baseline.
        y: of the baseline; for ``upright`` words, of their lower end.
        text: on one line.
        size: of the font, in the axes' units.
        color: as matplotlib reads it.
        family: ``MONO`` or ``SANS``.
        bold: whether they are.
        upright: whether they run upwards.
    """

    x: float
    y: float
    text: str
    size: float
    color: str
    family: str = SANS
    bold: bool = False
    upright: bool = False


class Lettering(Artist):
    """Draws words without matplotlib's text layout, which takes most of the time of a picture with a thousand labels."""

    def __init__(self, words: Sequence[Words], points: float) -> None:
        super().__init__()
        self._words, self._points = words, points
        self.set_zorder(6)

    def draw(self, renderer: Any) -> None:
        """Called by matplotlib; ``transData`` leads from the axes' units to the renderer's."""
        assert self.axes is not None
        context = renderer.new_gc()
        flipped = renderer.flipy()
        for words in self._words:
            x, y = self.axes.transData.transform((words.x, words.y))
            context.set_foreground(words.color)
            place = (x, renderer.get_canvas_width_height()[1] - y) if flipped else (x, y)
            font = _font(words.family, words.bold, words.size * self._points)
            renderer.draw_text(context, *place, known(words.text, words.family), font, 90 if words.upright else 0)
        context.restore()


def known(words: str, family: str) -> str:
    """The words with a box for every letter that the font has not, which matplotlib would warn about."""
    letters = _letters(family)
    return "".join(letter if ord(letter) in letters else _MISSING for letter in words)


def length(words: Words) -> float:
    """How long words are when drawn, in the units of their size."""
    font = get_font(findfont(_font(words.family, words.bold, 100)))
    font.set_size(100, 72)
    font.set_text(known(words.text, words.family), 0.0)
    return font.get_width_height()[0] / 64 / 100 * words.size


@lru_cache(maxsize=256)
def _font(family: str, bold: bool, size: float) -> FontProperties:
    return FontProperties(family=family, weight="bold" if bold else "normal", size=size)


@lru_cache
def _letters(family: str) -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=family))).get_charmap())
