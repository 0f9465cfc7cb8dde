"""A scene as one SVG file: every style inside, light and dark, the same bytes for the same graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from html import escape

from hyperviz.render.labels import clean
from hyperviz.render.layout import Layout
from hyperviz.render.legend import SAMPLE, Entry
from hyperviz.render.palette import LIGHT, NUM_PAINTS, paint, paint_index
from hyperviz.render.placement import Box, Point
from hyperviz.render.scene import MARGIN, EdgeMark, NodeMark, Scene, scene
from hyperviz.render.style import style
from hyperviz.snapshot import Plan

_STROKES = {"stripes": "M0 0V6", "dots": "M1.5 1.5h.1M4.5 4.5h.1", "bars": "M0 0H6M0 3H6"}


def svg(plan: Plan, layout: Layout | None = None) -> str:
    """A plan's picture as a standalone SVG document, which may also stand in a page as it is.

    Args:
        plan: what to draw.
        layout: where the nodes stand; made from ``plan.graph`` where it is not given.

    Returns:
        One ``<svg class="hyperviz">``. Every node is a ``<g class="hv-node" data-name data-role data-region data-paint data-phase>``
        (region and paint are absent for a node in no region), an edge a ``<path class="hv-edge" data-from data-to>``, a saved value a
        ``<path class="hv-saved" data-from data-to>``. What a node looks like follows from its attributes alone.
    """
    picture = scene(plan, layout)
    body = "".join(_body(picture))
    prefix = f"hv{hashlib.sha256(body.encode()).hexdigest()[:6]}"
    width, height = (f"{round(length)}" for length in picture.size)
    words = f"{_text(picture.title)}: {_text(picture.subtitle)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hyperviz" id="{prefix}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{words}" fill="{LIGHT.neutral}" stroke="none">'
        f"<style>{style(prefix)}</style><defs>{''.join(_defs(prefix))}</defs>"
        f'<g class="hv-viewport">{body}</g></svg>'
    )


def _defs(prefix: str) -> Iterator[str]:
    for index in range(NUM_PAINTS):
        pattern = paint(index, LIGHT).pattern
        if pattern != "plain":
            yield _pattern(f"{prefix}{index}", f"hv-f{index}", _STROKES[pattern], turn=45 if pattern == "stripes" else 0)
    yield _pattern(f"{prefix}e", "hv-fe", "M0 0V6", turn=-45)
    yield f'<marker id="{prefix}t" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="5" markerHeight="5" orient="auto">'
    yield '<path class="hv-tip" d="M0 0L6 3L0 6z"/></marker>'


def _pattern(name: str, group: str, strokes: str, turn: int) -> str:
    turned = f' patternTransform="rotate({turn})"' if turn else ""
    return (
        f'<pattern id="{name}" class="{group}" width="6" height="6" patternUnits="userSpaceOnUse"{turned}>'
        f'<rect width="6" height="6" stroke="none"/><path d="{strokes}" stroke-width="1.6" stroke-linecap="round"/></pattern>'
    )


def _body(picture: Scene) -> Iterator[str]:
    yield f'<rect class="hv-paper" width="{round(picture.size[0])}" height="{round(picture.size[1])}" fill="{LIGHT.paper}"/>'
    yield from _words(picture)
    for panel in picture.panels:
        x, y, w, h = (round(number) for number in panel.box)
        yield f'<g class="hv-panel" data-phase="{panel.phase}">'
        yield f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="10" fill="{LIGHT.panel}"/>'
        size = max(14, picture.unit * 1.1)
        yield f'<text x="{x + 4}" y="{y - 36}" style="font-size:{size:.0f}px;text-anchor:start;font-weight:600">{panel.heading}</text></g>'
    yield f'<g fill="none" stroke="{LIGHT.faint}">'
    yield from (_edge(edge) for edge in picture.edges)
    yield f'</g><g stroke="{LIGHT.faint}">'
    yield from (_node(node) for node in picture.nodes)
    yield "</g>"


def _words(picture: Scene) -> Iterator[str]:
    """Title, mode and counts, notes; then the legend."""
    unit, y = picture.unit, MARGIN
    yield '<g class="hv-words" fill="#1b1f24">'
    lines = [("hv-title", 1.7, 700, picture.title), ("hv-subtitle", 1.15, 400, picture.subtitle)]
    lines += [("hv-note", 1.0, 400, note) for note in picture.notes]
    for group, scale, weight, text in lines:
        y += unit * scale
        yield f'<text class="{group}" x="{MARGIN:.0f}" y="{y:.0f}" style="{_font(unit * scale, weight)}">{_text(text)}</text>'
        y += unit * 0.5
    yield "</g>"
    yield from (_entry(entry) for entry in picture.legend)


def _font(size: float, weight: int) -> str:
    return f"font-size:{size:.1f}px;text-anchor:start;font-weight:{weight}"


def _entry(entry: Entry) -> str:
    w, h = SAMPLE
    place = f'transform="translate({entry.x:.0f} {entry.y:.0f}) scale({entry.scale:.2f})"'
    words = f'<text class="hv-legend" x="{w + 7:.0f}" y="15" style="text-anchor:start">{_text(entry.words)}</text>'
    if entry.role == "saved":
        return f'<g {place}><path class="hv-saved" d="M0 11C12 2 22 20 34 11" style="opacity:1"/>{words}</g>'
    attributes = _attributes(entry.role, entry.kind, entry.region, None if entry.region is None else paint_index(entry.region))
    top, height = (3.5, 15) if entry.role == "placeholder" else (0, h)
    sample = f'<rect y="{top}" width="{w:.0f}" height="{height:.0f}"/><text x="{w / 2:.0f}" y="15"><tspan>{entry.badge}</tspan></text>'
    return f"<g {place}><g {attributes}>{sample}</g>{words}</g>"


def _attributes(role: str, kind: str, region: int | None, paint: int | None) -> str:
    words = [f'data-role="{role}"']
    words += [] if region is None else [f'data-region="{region}" data-paint="{paint}"']
    words += [f'data-kind="{kind}"'] if kind in ("buffer", "input") else []
    return " ".join(words)


def _node(node: NodeMark) -> str:
    x, y, w, h = _rounded(node.box)
    attributes = _attributes(node.role, node.kind, node.region, node.paint)
    phase = f' data-phase="{node.phase}"' if node.phase else ""
    badge = f"<tspan>{node.badge} </tspan>" if node.badge else ""
    return (
        f'<g class="hv-node" data-name="{_text(node.name)}" {attributes}{phase}><title>{_text(node.tooltip)}</title>'
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}"/><text x="{x + w // 2}" y="{y + h // 2 + 4}">{badge}{_text(node.label)}</text></g>'
    )


def _edge(edge: EdgeMark) -> str:
    group = {"near": "hv-edge", "far": "hv-edge hv-far", "saved": "hv-saved"}[edge.kind]
    return f'<path class="{group}" data-from="{_text(edge.start)}" data-to="{_text(edge.end)}" d="{_path(edge.chain)}"/>'


def _path(chain: tuple[Point, ...]) -> str:
    """Whole pixels, each piece relative to where it begins; a piece that is straight is a line."""
    x, y = (round(number) for number in chain[0])
    words = [f"M{x} {y}"]
    for start in range(1, len(chain), 3):
        piece = [(round(a) - x, round(b) - y) for a, b in chain[start : start + 3]]
        (ax, ay), (bx, by), (cx, cy) = piece
        straight = abs(ax * cy - ay * cx) <= 1 + abs(cx) + abs(cy) and abs(bx * cy - by * cx) <= 1 + abs(cx) + abs(cy)
        words.append(_short("l", (cx, cy)) if straight else _short("c", (ax, ay, bx, by, cx, cy)))
        x, y = x + cx, y + cy
    return "".join(words)


def _short(letter: str, numbers: tuple[int, ...]) -> str:
    return letter + " ".join(map(str, numbers)).replace(" -", "-")


def _rounded(box: Box) -> tuple[int, int, int, int]:
    x, y, w, h = (round(number) for number in box)
    return x, y, w, h


def _text(text: str) -> str:
    return escape(clean(text))
