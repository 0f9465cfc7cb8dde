"""Outlines as matplotlib paths."""

from __future__ import annotations

from matplotlib.path import Path

from hyperviz.render.placement import Box

_ARC = 0.5523
"""Where the control points of a quarter circle lie, as a part of its radius."""


def rounded(box: Box, radius: float) -> Path:
    """A box with rounded corners."""
    x, y, w, h = box
    r = min(radius, w / 2, h / 2)
    if not r:
        return Path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)], closed=True)
    k = r * (1 - _ARC)
    points = [(x + r, y), (x + w - r, y), (x + w - k, y), (x + w, y + k), (x + w, y + r)]
    points += [(x + w, y + h - r), (x + w, y + h - k), (x + w - k, y + h), (x + w - r, y + h)]
    points += [(x + r, y + h), (x + k, y + h), (x, y + h - k), (x, y + h - r)]
    points += [(x, y + r), (x, y + k), (x + k, y), (x + r, y), (x + r, y)]
    corner = [Path.CURVE4] * 3
    codes = [Path.MOVETO, Path.LINETO, *corner, Path.LINETO, *corner, Path.LINETO, *corner, Path.LINETO, *corner, Path.CLOSEPOLY]
    return Path(points, codes)
