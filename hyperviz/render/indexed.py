"""A drawing as a small PNG: its colours are known, so an index of them does for all pixels, at a quarter of the bytes."""

from __future__ import annotations

import io
from collections.abc import Iterable

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from hyperviz.render.palette import HUES, Theme, mix, paint
from hyperviz.render.plot_style import quiet

Pair = tuple[str, str]
_MAX_COLORS = 256


def indexed_png(figure: Figure, colors: Iterable[str], dpi: float) -> bytes:
    """A figure as a PNG file in the given colours. Pillow, which writes it, comes with matplotlib."""
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    index = Image.new("P", (1, 1))
    index.putpalette(bytes(int(color[start : start + 2], 16) for color in colors for start in (1, 3, 5)))
    pixels = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
    image = Image.fromarray(pixels).quantize(palette=index, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True, dpi=(dpi, dpi))
    return file.getvalue()


def picture_colors(theme: Theme) -> list[str]:
    """Every colour of a graph's picture."""
    paints = [paint(index, theme) for index in range(len(HUES))]
    plain = [theme.paper, theme.panel, theme.neutral]
    meeting = [(ground, theme.ink) for ground in (*plain, *(look.fill for look in paints))]
    meeting += [(ground, color) for ground in plain[:2] for color in (theme.faint, theme.saved, theme.alarm)]
    meeting += [(theme.neutral, theme.hatch), (theme.hatch, theme.ink)]
    meeting += [(look.fill, other) for look in paints for other in (look.mark, look.line)]
    meeting += [(theme.panel, look.line) for look in paints]
    return _blended(meeting, 5)


def plot_colors(theme: Theme) -> list[str]:
    """Every colour of a plot."""
    meeting = [(ground, color) for ground in (theme.paper, theme.panel) for color in (theme.ink, quiet(theme), theme.faint, theme.neutral)]
    meeting += [(theme.paper, theme.alarm), *((ground, hue) for hue in HUES for ground in (theme.panel, theme.ink))]
    return _blended(meeting, 8)


def timeline_colors(theme: Theme) -> list[str]:
    """Every colour of a timeline: those of plots, of regions, of communication and its stripes, of memory."""
    paints = [paint(index, theme) for index in range(len(HUES))]
    meeting = [(ground, color) for ground in (theme.paper, theme.panel) for color in (theme.ink, quiet(theme), theme.alarm)]
    meeting += [(theme.panel, theme.saved), (theme.saved, theme.ink), (mix(theme.faint, theme.paper, 0.5), theme.faint)]
    meeting += [(look.fill, other) for look in paints for other in (look.line, theme.ink)]
    meeting += [(mix(hue, theme.paper, 0.55), other) for hue in HUES for other in (mix(hue, theme.ink, 0.7), theme.alarm)]
    return _blended(meeting, 5)


def _blended(meeting: Iterable[Pair], steps: int) -> list[str]:
    """Both colours of each pair and, as a line or letter covers a pixel only in part, those between them."""
    meeting = list(meeting)
    ends = [color for pair in meeting for color in pair]
    between = [mix(a, b, step / steps) for a, b in meeting for step in range(1, steps)]
    return list(dict.fromkeys(ends + between))[:_MAX_COLORS]
