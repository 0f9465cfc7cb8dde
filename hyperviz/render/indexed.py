"""A drawn picture as a small PNG: its colours are known, so an index of them does for all pixels, at a quarter of the bytes."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from hyperviz.render.palette import HUES, Theme, mix, paint

_PARTS = (0.2, 0.4, 0.6, 0.8)
"""Where a line or letter covers a pixel in part, its colour is mixed with the ground's."""


def indexed_png(pixels: np.ndarray, theme: Theme, dpi: float) -> bytes:
    """Pixels (height, width, at least 3; 0 to 255) as a PNG file. Pillow comes with matplotlib."""
    index = Image.new("P", (1, 1))
    index.putpalette(bytes(int(color[start : start + 2], 16) for color in colors(theme) for start in (1, 3, 5)))
    image = Image.fromarray(np.ascontiguousarray(pixels[..., :3])).quantize(palette=index, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True, dpi=(dpi, dpi))
    return file.getvalue()


def colors(theme: Theme) -> list[str]:
    """Every colour of a theme, and between what meets; at most 256."""
    paints = [paint(index, theme) for index in range(len(HUES))]
    plain = [theme.paper, theme.panel, theme.neutral]
    meeting = [(ground, theme.ink) for ground in (*plain, *(look.fill for look in paints))]
    meeting += [(ground, color) for ground in plain[:2] for color in (theme.faint, theme.saved, theme.alarm)]
    meeting += [(look.fill, other) for look in paints for other in (look.mark, look.line)]
    meeting += [(theme.panel, look.line) for look in paints]
    ends = [color for pair in meeting for color in pair]
    return list(dict.fromkeys(ends + [mix(a, b, part) for a, b in meeting for part in _PARTS]))[:256]
