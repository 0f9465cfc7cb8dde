"""A scene as PNG or PDF, drawn by matplotlib: the same picture as the SVG, for slides and papers."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.path import Path

from hyperviz.render.fold import HEADING
from hyperviz.render.glyphs import Lettering, Words, length
from hyperviz.render.image_nodes import draw_boxes, node_words
from hyperviz.render.indexed import indexed_png, picture_colors
from hyperviz.render.labels import LETTER, tail
from hyperviz.render.layout import Layout
from hyperviz.render.legend import SAMPLE, Entry
from hyperviz.render.palette import Theme
from hyperviz.render.placement import Point
from hyperviz.render.plot_style import theme_named
from hyperviz.render.scene import MARGIN, EdgeMark, NodeMark, Scene, scene
from hyperviz.render.shapes import rounded
from hyperviz.snapshot import Plan

PIXELS_PER_INCH = 96
POINTS = 72 / PIXELS_PER_INCH
"""Points in one of the scene's pixels: matplotlib measures lines and letters in points."""
_MAX_SIDE = 2**16 - 1
"""Pixels along a side that matplotlib can draw."""
_MAX_AREA = 64_000_000
"""Pixels in all: drawing takes some twenty bytes for each, and a picture of thousands of nodes would take all memory there is."""
_PAIR_WIDTH = 2.4
_PAIR_DASHES = (0, (8 / 2.4, 2.5 / 2.4, 2 / 2.4, 2.5 / 2.4))
"""The style sheet's dashes, in widths of the line."""
_LINES = {"saved": ((0, 11), (12, 2), (22, 20), (34, 11)), "pair": ((0, 11), (12, 11), (22, 11), (34, 11))}
"""Samples of the legend that are lines, from the upper left corner."""
_READABLE = 3.5
"""Letters of fewer pixels than this are a smudge, and most of the time that a small picture takes."""


def png(plan: Plan, layout: Layout | None = None, *, dpi: float = PIXELS_PER_INCH, theme: str = "light") -> bytes:
    """The picture as a PNG file.

    Args:
        plan: what to draw.
        layout: where the nodes stand; made where it is not given.
        dpi: 96 draws as large as the SVG; a picture of more than 64 million pixels, or 65,535 along a side, is made smaller.
        theme: ``"light"`` or ``"dark"``.

    Raises:
        ValueError: ``dpi`` is not above zero, or the theme is unknown.
    """
    if not dpi > 0:
        raise ValueError(f"dpi must be above 0, got {dpi!r}")
    picture = scene(plan, layout)
    colors, dpi = theme_named(theme), fitting_dpi(dpi, picture.size)
    figure = _figure(picture, colors, smallest=_READABLE * PIXELS_PER_INCH / dpi)
    return indexed_png(figure, picture_colors(colors), dpi)


def fitting_dpi(dpi: float, size: tuple[float, float]) -> float:
    """As many dots per inch as were asked for, or as fit: ``size`` is the picture's, in pixels at 96 dpi."""
    width, height = size
    return min(dpi, PIXELS_PER_INCH * min(_MAX_SIDE / max(width, height), (_MAX_AREA / (width * height)) ** 0.5))


def pdf(plan: Plan, layout: Layout | None = None, *, theme: str = "light") -> bytes:
    """The picture as a PDF file of one page; its text can be selected and searched.

    Raises:
        ValueError: the theme is unknown.
    """
    file = io.BytesIO()
    _figure(scene(plan, layout), theme_named(theme), smallest=0).savefig(file, format="pdf", metadata={"CreationDate": None})
    return file.getvalue()


def _figure(picture: Scene, theme: Theme, smallest: float) -> Figure:
    """The whole picture; letters smaller than ``smallest`` of its pixels are left out."""
    width, height = picture.size
    figure = Figure(figsize=(width / PIXELS_PER_INCH, height / PIXELS_PER_INCH), facecolor=theme.paper)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    _panels(axes, picture, theme)
    for kind in ("far", "near", "saved", "pair"):
        _edges(axes, [edge for edge in picture.edges if edge.kind == kind], kind, theme)
    draw_boxes(axes, picture.nodes, theme)
    _samples(axes, picture.legend, theme)
    words = (*_words(picture, theme), *node_words(picture.nodes, theme))
    axes.add_artist(Lettering([one for one in words if one.text and one.size >= smallest], POINTS))
    return figure


def _words(picture: Scene, theme: Theme) -> Iterator[Words]:
    """Everything that is written, but for the nodes."""
    for line in picture.lines:
        color = theme.alarm if line.kind == "caveat" else theme.ink
        yield Words(MARGIN, line.y, line.words, line.size, color, bold=line.kind in ("title", "caveat"))
    for panel in picture.panels:
        yield Words(panel.box[0], panel.box[1] - HEADING + 4, panel.heading, picture.heading_size, theme.ink, bold=True)
    for band in picture.bands:
        text = tail(band.module, max(2, int((band.bottom - band.top) / (picture.band_size * LETTER))))
        words = Words(band.x - 8, 0, text, picture.band_size, theme.ink, bold=True, upright=True)
        yield replace(words, y=(band.top + band.bottom + length(words)) / 2)
    for entry in picture.legend:
        yield Words(entry.x + (SAMPLE[0] + 7) * entry.scale, entry.y + 15 * entry.scale, entry.words, 11 * entry.scale, theme.ink)
        if entry.role not in _LINES:
            yield from node_words([_sample(entry)], theme, entry.scale)


def _panels(axes: Axes, picture: Scene, theme: Theme) -> None:
    paths = [rounded(panel.box, 10) for panel in picture.panels]
    axes.add_collection(PathCollection(paths, facecolors=theme.panel, edgecolors="none", zorder=0), autolim=False)
    corners = [((band.x + 7, band.x), (band.top, band.bottom)) for band in picture.bands]
    brackets = [Path([(out, top), (x, top), (x, bottom), (out, bottom)]) for (out, x), (top, bottom) in corners]
    axes.add_collection(_lines(brackets, theme.faint, 1.5, zorder=1), autolim=False)


def _edges(axes: Axes, edges: Sequence[EdgeMark], kind: str, theme: Theme, scale: float = 1.0) -> None:
    color, alpha = {"saved": (theme.saved, 0.4), "far": (theme.faint, 0.32), "pair": (theme.ink, 1.0)}.get(kind, (theme.faint, 1.0))
    width, look = (_PAIR_WIDTH, {"linestyles": [_PAIR_DASHES]}) if kind == "pair" else (1.0, {})
    lines = _lines([_curve(edge.chain) for edge in edges], color, width * scale, zorder=2, alpha=alpha, **look)
    axes.add_collection(lines, autolim=False)
    if kind == "near":
        tips = [tip for edge in edges if (tip := _tip(edge.chain))]
        axes.add_collection(PathCollection(tips, facecolors=color, edgecolors="none", zorder=2), autolim=False)


def _lines(paths: list[Path], color: str, width: float, **style: Any) -> PathCollection:
    return PathCollection(paths, facecolors="none", edgecolors=color, linewidths=width * POINTS, **style)


def _curve(chain: Sequence[Point]) -> Path:
    return Path(chain, [Path.MOVETO] + [Path.CURVE4] * (len(chain) - 1))


def _tip(chain: Sequence[Point]) -> Path | None:
    """A small triangle at the end of an edge, None where the edge has no direction."""
    x, y = chain[-1]
    before = next((point for point in reversed(chain) if point != (x, y)), (x, y))
    dx, dy = x - before[0], y - before[1]
    far = (dx * dx + dy * dy) ** 0.5
    if not far:
        return None
    dx, dy = 6 * dx / far, 6 * dy / far
    return Path([(x, y), (x - dx - dy / 2, y - dy + dx / 2), (x - dx + dy / 2, y - dy - dx / 2), (x, y)], closed=True)


def _samples(axes: Axes, entries: Iterable[Entry], theme: Theme) -> None:
    for entry in entries:
        if entry.role in _LINES:
            chain = tuple((entry.x + x * entry.scale, entry.y + y * entry.scale) for x, y in _LINES[entry.role])
            _edges(axes, [EdgeMark("", "", entry.role, chain)], entry.role, theme, entry.scale)
        else:
            draw_boxes(axes, [_sample(entry)], theme, entry.scale)


def _sample(entry: Entry) -> NodeMark:
    top, height = (3.5, 15.0) if entry.role == "placeholder" else (0.0, SAMPLE[1])
    box = (entry.x, entry.y + top * entry.scale, SAMPLE[0] * entry.scale, height * entry.scale)
    return NodeMark("", entry.role, entry.kind, entry.region, "", box, "", "")
