"""Timelines as an SVG for a page: one scale for all, spans that say what they are and which node they belong to, both themes in one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from hyperviz.render.labels import cut
from hyperviz.render.numbers import duration, scaled
from hyperviz.render.palette import DARK, LIGHT
from hyperviz.render.plot_style import quiet
from hyperviz.render.timeline_lanes import Bar, Look, Stretches, coarse, common, look_of, look_of_kind, look_of_standing, standing_of
from hyperviz.snapshot import Span, Timeline

WIDTH = 1180
"""Pixels, of a picture that shows the whole step."""
_LEFT, _RIGHT, _TITLE, _LANE, _MEMORY, _BETWEEN, _LEGEND, _AXIS = 150, 12, 26, 26, 54, 14, 24, 34
_CHARACTER, _FINEST = 6.6, 1.0
"""Pixels that a letter takes, and below which a span is no longer one of its own."""
_STRIPES = "hv-stands-still-"
_INK, _QUIET = f"light-dark({LIGHT.ink}, {DARK.ink})", f"light-dark({quiet(LIGHT)}, {quiet(DARK)})"
_HALO = (
    f'stroke="light-dark({LIGHT.paper}, {DARK.paper})" stroke-width="2.5" paint-order="stroke" text-anchor="middle" pointer-events="none"'
)
"""Words on stripes are not read without a ground of their own."""


def timeline_svg(timelines: Sequence[Timeline], *, node_of: Mapping[str, str] | None = None, width: int = WIDTH, key: str = "") -> str:
    """One or several timelines below each other, on one scale of time and one of memory.

    Every span that is wide enough to be told from its neighbours is an element with ``data-span``, what it belongs to, and ``data-node``,
    the node of the graph to select for it; its ``<title>`` says what it is. Finer ones are drawn as a raster. Colours follow the page's
    ``color-scheme``.

    Args:
        timelines: first on top.
        node_of: region → a node of it; what is not in it is a node already.
        width: in pixels; a wider picture shows finer spans.
        key: tells this picture from others on its page: what refers to a pattern of a hidden one is not painted.

    Raises:
        ValueError: there is no timeline.
    """
    if not timelines:
        raise ValueError("timelines must hold at least one to be drawn, got none")
    reach = max(max((_end(span) for timeline in timelines for span in timeline.spans), default=0.0), 1e-9)
    top = max([1, *(point.live_bytes or 0 for timeline in timelines for point in timeline.memory)])
    page = _Page(width, (width - _LEFT - _RIGHT) / reach, top, node_of or {})
    page.legend(timelines)
    for timeline in timelines:
        page.timeline(timeline)
    page.axis(reach)
    words = ". ".join(f"{one.title}, {one.label}: {one.summary()[0]}" for one in timelines)
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {page.y:g}" width="{width}" height="{page.y:g}" role="img"'
    hatch = f'<path d="M-1,7 L7,-1" style="stroke:{_both(LIGHT.alarm, DARK.alarm)}" stroke-width="1.6"/>'
    pattern = f'<defs><pattern id="{_STRIPES}" width="6" height="6" patternUnits="userSpaceOnUse">{hatch}</pattern></defs>'
    picture = f'{start} font-size="11" pointer-events="none" aria-label="{escape(words)}">{pattern}{"".join(page.parts)}</svg>'
    return picture.replace(_STRIPES, f"{_STRIPES}{key}")


class _Page:
    """What was drawn so far, from the top.

    Attributes:
        y: how far down.
        parts: the elements.
    """

    def __init__(self, width: int, scale: float, top: int, node_of: Mapping[str, str]) -> None:
        self.width, self.scale, self.top, self.node_of = width, scale, top, node_of
        self.y, self.parts = 0.0, []

    def legend(self, timelines: Sequence[Timeline]) -> None:
        """What the looks mean that are in the picture."""
        kinds = dict.fromkeys(one.kind for timeline in timelines for one in timeline.collectives)
        entries = dict.fromkeys((*_looks(kind), f"{letter} {words}") for kind in kinds for _, letter, words in [look_of_kind(kind, LIGHT)])
        if any(span.kind == "exposed" for timeline in timelines for span in timeline.spans):
            entries[look_of_standing(LIGHT), look_of_standing(DARK), "compute stands still"] = None
        x = float(_LEFT)
        for light, dark, words in entries:
            self.parts.append(_rect(x, 6, 14, 12, light, dark))
            self._say(x + 19, 16, words, _QUIET)
            x += 40 + _CHARACTER * len(words)
        self.y += _LEGEND

    def timeline(self, timeline: Timeline) -> None:
        """Title, lanes, memory."""
        words = f"step {duration(timeline.total_ms)} · exposed {duration(timeline.exposed_ms)} · hidden {duration(timeline.hidden_ms)}"
        self._say(_LEFT, self.y + 18, cut(timeline.title or "step", 90), _INK, 'font-weight="650" font-size="12.5"')
        self._say(min(self.width, WIDTH) - _RIGHT, self.y + 18, words, _INK, 'text-anchor="end"')
        self.y += _TITLE
        kinds, standing = {one.launch: one.kind for one in timeline.collectives}, standing_of(timeline)
        for lane in timeline.lanes:
            self._ground(_LANE - 4)
            self._say(_LEFT - 8, self.y + 15, cut(lane, 22), _INK, 'text-anchor="end"')
            self._lane([span for span in timeline.spans if span.lane == lane], kinds, standing)
            self.y += _LANE
        self._memory(timeline)
        self.y += _MEMORY + _BETWEEN

    def axis(self, reach: float) -> None:
        """Round numbers of milliseconds along the bottom."""
        step = _round(reach / 8)
        for index in range(int(reach / step) + 1):
            x = _LEFT + index * step * self.scale
            self.parts.append(f'<path d="M{x:.1f},{_LEGEND} V{self.y - 8:.1f}" style="stroke:{_QUIET}" stroke-width="0.5" opacity="0.35"/>')
            self._say(x, self.y + 8, f"{index * step:g}", _QUIET, 'text-anchor="middle"')
        self._say(_LEFT - 8, self.y + 8, "milliseconds", _QUIET, 'text-anchor="end"')
        self.y += _AXIS - 14

    def _lane(self, spans: Sequence[Span], kinds: Mapping[str, str], standing: Stretches) -> None:
        fine: list[Bar] = []
        dark_of: dict[Look, Look] = {}
        for span in spans:
            (light, label), (dark, _) = look_of(span, kinds, LIGHT), look_of(span, kinds, DARK)
            dark_of[light] = dark
            x = _LEFT + span.start_ms * self.scale
            if span.end_ms is None:
                self._say(x, self.y + 16, "?", _both(LIGHT.alarm, DARK.alarm), 'font-weight="700"')
            elif (width := (span.end_ms - span.start_ms) * self.scale) < _FINEST:
                fine.append(Bar(span.start_ms, span.end_ms, light))
            else:
                self._span(span, x, width, light, dark, label, list(common(span.start_ms, span.end_ms, standing)))
        for bar in coarse(fine, _FINEST / self.scale):
            self.parts.append(self._bar(bar.start, bar.end, bar.look, dark_of[bar.look]))

    def _span(self, span: Span, x: float, width: float, light: Look, dark: Look, label: str, stripes: Stretches) -> None:
        node = self.node_of.get(span.node, span.node)
        title = f"{span.node}: {span.what or span.kind}, {duration(span.duration_ms)} from {duration(span.start_ms)}"
        rect = _rect(x, self.y + 2, width, _LANE - 8, light, dark, f"<title>{escape(title)}</title>")
        self.parts.append(f'<g class="hv-span" pointer-events="auto" data-span="{escape(span.node)}" data-node="{escape(node)}">{rect}')
        if span.kind == "communication":
            for start, end in stripes:
                self.parts.append(_stripes(_place(_LEFT + start * self.scale, self.y + 2, (end - start) * self.scale, _LANE - 8)))
        room = int(width / _CHARACTER)
        if (words := label if len(label) <= room else cut(label, room) if room >= 6 else "") and span.kind != "exposed":
            self._say(x + width / 2, self.y + 15, words, _INK, _HALO)
        self.parts.append("</g>")

    def _bar(self, start: float, end: float, light: Look, dark: Look) -> str:
        return _rect(_LEFT + start * self.scale, self.y + 2, (end - start) * self.scale, _LANE - 8, light, dark)

    def _memory(self, timeline: Timeline) -> None:
        self._ground(_MEMORY)
        self._say(_LEFT - 8, self.y + 20, "memory held", _INK, 'text-anchor="end"')
        besides = "inputs of unknown size" if timeline.input_bytes is None else f"{scaled(timeline.input_bytes, 'B')} of inputs"
        self._say(_LEFT - 8, self.y + 36, f"besides {besides}", _QUIET, 'text-anchor="end" font-size="9.5"')
        sizes = [point.live_bytes for point in timeline.memory]
        if None in sizes or not sizes:
            self._say((_LEFT + self.width) / 2, self.y + 30, "unknown" if sizes else "nothing", _QUIET, 'text-anchor="middle"')
            return
        bottom = self.y + _MEMORY
        heights = [(_MEMORY - 14) * (size or 0) / self.top for size in sizes]
        steps = "".join(
            f"L{_LEFT + point.at_ms * self.scale:.1f},{bottom - before:.1f} V{bottom - height:.1f}"
            for point, before, height in zip(timeline.memory, [0.0, *heights], heights, strict=False)
        )
        end = max((_end(span) for span in timeline.spans), default=0.0) * self.scale + _LEFT
        look = f"fill:{_both(LIGHT.saved, DARK.saved)};fill-opacity:.35;stroke:{_both(LIGHT.saved, DARK.saved)}"
        self.parts.append(f'<path d="M{_LEFT},{bottom} {steps} H{end:.1f} V{bottom} Z" style="{look}"/>')
        self._peak(timeline, heights, bottom)

    def _peak(self, timeline: Timeline, heights: Sequence[float], bottom: float) -> None:
        index = max(range(len(heights)), key=heights.__getitem__)
        x, y = _LEFT + timeline.memory[index].at_ms * self.scale, bottom - heights[index]
        words = f"peak {scaled(timeline.peak_bytes, 'B')}" + (f" at {cut(timeline.peak_node, 40)}" if timeline.peak_node else "")
        self.parts.append(f'<path d="M{x - 4:.1f},{y - 6:.1f} h8 l-4,6 Z" style="fill:{_INK}"/>')
        late = x > _LEFT + 0.6 * (self.width - _LEFT)
        self._say(x + (-8 if late else 8), y - 1, words, _INK, 'text-anchor="end"' if late else "")

    def _ground(self, height: float) -> None:
        place = _place(_LEFT, self.y, self.width - _LEFT - _RIGHT, height)
        self.parts.append(f'<rect {place} style="fill:{_both(LIGHT.panel, DARK.panel)}"/>')

    def _say(self, x: float, y: float, words: str, color: str, how: str = "") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" style="fill:{color}" {how}>{escape(words)}</text>')


def _end(span: Span) -> float:
    return span.start_ms if span.end_ms is None else span.end_ms


def _looks(kind: str) -> tuple[Look, Look]:
    return look_of_kind(kind, LIGHT)[0], look_of_kind(kind, DARK)[0]


def _rect(x: float, y: float, width: float, height: float, light: Look, dark: Look, inside: str = "") -> str:
    """A bar; one of time that stands still is striped besides."""
    style = f"fill:{_both(light.fill, dark.fill)};stroke:{_both(light.edge, dark.edge)}"
    place = _place(x, y, width, height)
    return f'<rect {place} stroke-width="0.6" style="{style}">{inside}</rect>{_stripes(place) if light.hatch else ""}'


def _place(x: float, y: float, width: float, height: float) -> str:
    return f'x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height:g}"'


def _stripes(place: str) -> str:
    return f'<rect {place} fill="url(#{_STRIPES})" pointer-events="none"/>'


def _both(light: str, dark: str) -> str:
    return light if light == dark else f"light-dark({light}, {dark})"


def _round(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999)
