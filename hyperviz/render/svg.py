"""A scene as one SVG file: every style inside, light and dark, the same bytes for the same graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from hyperviz.render.bands import Band
from hyperviz.render.fold import HEADING, Panel
from hyperviz.render.labels import LETTER, clean, tail
from hyperviz.render.layout import Layout
from hyperviz.render.legend import SAMPLE, Entry
from hyperviz.render.palette import LIGHT, NUM_PAINTS, paint
from hyperviz.render.placement import Box
from hyperviz.render.scene import MARGIN, EdgeMark, Line, NodeMark, Scene, scene
from hyperviz.render.style import style
from hyperviz.render.svg_path import path
from hyperviz.snapshot import Plan

_STROKES = {"stripes": "M0 0V6", "dots": "M1.5 1.5h.1M4.5 4.5h.1", "bars": "M0 0H6M0 3H6"}
_EDGES = {"near": "hv-edge", "far": "hv-edge hv-far", "saved": "hv-saved", "pair": "hv-edge hv-pair"}
_LINES = {"saved": "M0 11C12 2 22 20 34 11", "pair": "M0 11H34"}


def svg(plan: Plan, layout: Layout | None = None, *, still: bool = False) -> str:
    """A plan's picture as a standalone SVG document, which may also stand in a page as it is.

    Args:
        plan: what to draw.
        layout: where the nodes stand; made from ``plan.graph`` where it is not given.
        still: the same picture in half the bytes, for places that keep every picture, as a saved notebook does: without the tooltips and
            attributes that a live view reads, and as wide as there is room.

    Returns:
        One ``<svg class="hyperviz">``. Every node is a ``<g class="hv-node" data-name data-role data-region data-paint data-phase>``
        (region and paint are absent for a node in no region), an edge a ``<path class="hv-edge" data-from data-to>``, a saved value a
        ``<path class="hv-saved" data-from data-to>``, the tie from a launch to its wait a ``<path class="hv-edge hv-pair" …>``. What a
        node looks like follows from its attributes alone.
    """
    picture = scene(plan, layout)
    body = "".join(_body(picture, still))
    prefix = f"hv{hashlib.sha256(body.encode()).hexdigest()[:6]}"
    width, height = (round(length) for length in picture.size)
    used = {mark.paint for mark in (*picture.nodes, *picture.legend) if mark.paint is not None}
    paints = sorted(used) if still else range(NUM_PAINTS)  # a live view may be given any plan of the graph
    # A saved notebook's page does not shrink a wide picture to its column, as JupyterLab does: a still one shrinks itself.
    size = f'width="100%" style="max-width:{width}px"' if still else f'width="{width}" height="{height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hyperviz" id="{prefix}" '
        f'{size} viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{text_of(_spoken(picture))}" fill="{LIGHT.neutral}" stroke="none">'
        f"<style>{style(prefix, paints)}</style><defs>{''.join(_defs(prefix, paints))}</defs>"
        f'<g class="hv-viewport">{body}</g></svg>'
    )


def _spoken(picture: Scene) -> str:
    return f"{picture.title}: {' · '.join(filter(None, [picture.subtitle, picture.caveat]))}"


def text_of(text: str) -> str:
    """Text as it may stand in XML, between tags and in attributes."""
    return escape(clean(text))


def _defs(prefix: str, paints: Iterable[int]) -> Iterator[str]:
    for index in paints:
        pattern = paint(index, LIGHT).pattern
        if pattern != "plain":
            yield _pattern(f"{prefix}{index}", f"hv-f{index}", _STROKES[pattern], turn=45 if pattern == "stripes" else 0)
    yield _pattern(f"{prefix}e", "hv-fe", "M0 0V6", turn=-45)
    yield f'<marker id="{prefix}t" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" markerUnits="userSpaceOnUse" '
    yield 'orient="auto"><path class="hv-tip" d="M0 0L6 3L0 6z"/></marker>'


def _pattern(name: str, group: str, strokes: str, turn: int) -> str:
    turned = f' patternTransform="rotate({turn})"' if turn else ""
    return (
        f'<pattern id="{name}" class="{group}" width="6" height="6" patternUnits="userSpaceOnUse"{turned}>'
        f'<rect width="6" height="6" stroke="none"/><path d="{strokes}" stroke-width="1.6" stroke-linecap="round"/></pattern>'
    )


def _body(picture: Scene, still: bool) -> Iterator[str]:
    yield f'<rect class="hv-paper" width="{round(picture.size[0])}" height="{round(picture.size[1])}" fill="{LIGHT.paper}"/>'
    yield f'<g fill="{LIGHT.ink}">{"".join(map(_line, picture.lines))}</g>'
    yield from (_panel(panel, picture.heading_size) for panel in picture.panels)
    yield from (_band(band, picture.band_size) for band in picture.bands)
    yield f'<g fill="none" stroke="{LIGHT.faint}">{"".join(_still_edges(picture) if still else map(_edge, picture.edges))}</g>'
    yield f'<g stroke="{LIGHT.faint}">{"".join(_still_nodes(picture) if still else map(_node, picture.nodes))}</g>'
    yield from (_entry(entry) for entry in picture.legend)


def _line(line: Line) -> str:
    font = _font(line.size, 700 if line.kind in ("title", "caveat") else 400)
    return f'<text class="hv-words hv-{line.kind}" x="{MARGIN:.0f}" y="{line.y:.0f}" style="{font}">{text_of(line.words)}</text>'


def _font(size: float, weight: int) -> str:
    return f"font-size:{size:.1f}px;text-anchor:start;font-weight:{weight}"


def _panel(panel: Panel, size: float) -> str:
    x, y, w, h = _rounded(panel.box)
    return (
        f'<g class="hv-panel" data-phase="{panel.phase}"><rect x="{x}" y="{y}" width="{w}" height="{h}" rx="10" fill="{LIGHT.panel}"/>'
        f'<text class="hv-words" x="{x}" y="{y - HEADING + 4:.0f}" style="{_font(size, 600)}">{panel.heading}</text></g>'
    )


def _band(band: Band, size: float) -> str:
    x, top, bottom = round(band.x), round(band.top), round(band.bottom)
    words = tail(band.module, max(2, int((bottom - top) / (size * LETTER))))
    return (
        f'<g class="hv-band"><path d="M{x + 7} {top}h-7V{bottom}h7" fill="none" stroke="{LIGHT.faint}"/>'
        f'<text class="hv-words" transform="translate({x - 8} {(top + bottom) // 2})rotate(-90)" '
        f'style="font-size:{size:.0f}px">{text_of(words)}</text></g>'
    )


def _edge(edge: EdgeMark) -> str:
    return f'<path class="{_EDGES[edge.kind]}" data-from="{text_of(edge.start)}" data-to="{text_of(edge.end)}" d="{path(edge.chain)}"/>'


def _still_edges(picture: Scene) -> Iterator[str]:
    for kind, edges in groupby(picture.edges, key=lambda edge: edge.kind):
        yield f'<g class="{_EDGES[kind]}">{"".join(f"""<path d="{path(edge.chain)}"/>""" for edge in edges)}</g>'


def _still_nodes(picture: Scene) -> Iterator[str]:
    """Nodes of one look share a group."""
    groups: dict[str, list[str]] = {}
    for node in picture.nodes:
        groups.setdefault(_look(node.role, node.kind, node.paint), []).append(_shape(node))
    return (f"<g {look}>{''.join(shapes)}</g>" for look, shapes in groups.items())


def _node(node: NodeMark) -> str:
    region = "" if node.region is None else f' data-region="{node.region}"'
    phase = f' data-phase="{node.phase}"' if node.phase else ""
    name, look = text_of(node.name), _look(node.role, node.kind, node.paint)
    return f'<g class="hv-node" data-name="{name}" {look}{region}{phase}><title>{text_of(node.tooltip)}</title>{_shape(node)}</g>'


def _shape(node: NodeMark) -> str:
    x, y, w, h = _rounded(node.box)
    words = (f"<tspan>{node.badge} </tspan>" if node.badge else "") + text_of(node.label)
    rect = f'<rect x="{x}" y="{y}" width="{w}" height="{h}"{_corners(node.role, node.kind)}/>'
    return f'{rect}<text x="{x + w // 2}" y="{y + h // 2 + 4}">{words}</text>'


def _corners(role: str, kind: str) -> str:
    """Round ends, said once more for readers that take no corners from a style sheet."""
    if role in ("collective", "wait"):
        return ' rx="11"'
    return ' rx="7.5"' if role == "placeholder" and kind != "input" else ""


def _look(role: str, kind: str, paint: int | None) -> str:
    """The attributes that decide what a node looks like."""
    words = [f'data-role="{role}"']
    words += [] if paint is None else [f'data-paint="{paint}"']
    words += [f'data-kind="{kind}"'] if kind in ("buffer", "input") else []
    return " ".join(words)


def _entry(entry: Entry) -> str:
    w, h = SAMPLE
    place = f'transform="translate({entry.x:.0f} {entry.y:.0f}) scale({entry.scale:.2f})"'
    words = f'<text class="hv-words" x="{w + 7:.0f}" y="15" style="text-anchor:start" fill="{LIGHT.ink}">{text_of(entry.words)}</text>'
    if entry.role in _LINES:
        return f'<g {place}><path class="{_EDGES[entry.role]}" d="{_LINES[entry.role]}" style="opacity:1"/>{words}</g>'
    look = _look(entry.role, entry.kind, entry.paint)
    top, height = (3.5, 15) if entry.role == "placeholder" else (0, h)
    rect = f'<rect y="{top}" width="{w:.0f}" height="{height:.0f}"{_corners(entry.role, entry.kind)}/>'
    sample = f'{rect}<text x="{w / 2:.0f}" y="15"><tspan>{entry.badge}</tspan></text>'
    return f'<g {place}><g {look} stroke="{LIGHT.faint}">{sample}</g>{words}</g>'


def _rounded(box: Box) -> tuple[int, int, int, int]:
    x, y, w, h = (round(number) for number in box)
    return x, y, w, h
