"""The style sheet inside every SVG: roles and regions by attribute, light and dark, with plain colours first for simple viewers."""

from __future__ import annotations

from collections.abc import Iterator

from hyperviz.render.palette import DARK, LIGHT, NUM_PAINTS, paint

FONT = 'ui-monospace,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace'
HEADING_FONT = 'system-ui,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans","DejaVu Sans",Arial,sans-serif'

# In a page the colour scheme is the page's; JupyterLab says its own on the body; a file of its own follows the reader's system.
_SCHEME = (
    "svg.hyperviz:root{color-scheme:light dark}"
    '[data-jp-theme-light="true"] .hyperviz{color-scheme:light}'
    '[data-jp-theme-light="false"] .hyperviz{color-scheme:dark}'
)

_SHAPES = f"""
.hyperviz .hv-legend{{font-family:{HEADING_FONT}}}
.hyperviz text{{font:11px {FONT};text-anchor:middle;stroke:none}}
.hyperviz tspan{{font-weight:700}}
.hyperviz .hv-words text,.hyperviz .hv-panel text{{font-family:{HEADING_FONT}}}
.hv-edge,.hv-saved{{fill:none;stroke-width:1}}
.hv-far{{stroke-dasharray:1 3;opacity:.45}}
.hv-saved{{stroke-width:1;opacity:.4}}
.hyperviz [data-role]>rect{{stroke-width:1;rx:5px}}
.hyperviz [data-role=placeholder]>rect{{rx:8px}}
.hyperviz [data-role=placeholder]>text{{font-size:9px}}
.hyperviz [data-role=eager]>rect{{rx:0;stroke-dasharray:4 2.5;stroke-width:1.3}}
.hyperviz [data-role=collective]>rect{{rx:11px;stroke-width:2}}
.hyperviz [data-role=wait]>rect{{rx:11px;stroke-width:2.6}}
.hyperviz [data-role=effect]>rect{{rx:0;stroke-width:2.2}}
.hyperviz [data-role=output]>rect{{rx:0;stroke-width:2.6}}
.hyperviz [data-kind=buffer]>rect{{stroke-dasharray:2 1.5}}
.hyperviz [data-kind=input]>rect{{rx:0;stroke-width:2}}
"""

_COLOURS = (
    (".hv-paper", "fill", "paper"),
    (".hv-panel>rect", "fill", "panel"),
    (".hyperviz text", "fill", "ink"),
    (".hv-edge", "stroke", "faint"),
    (".hyperviz .hv-tip", "fill", "faint"),
    (".hv-saved", "stroke", "saved"),
    (".hyperviz [data-role]>rect", "fill", "neutral"),
    (".hyperviz [data-role]>rect", "stroke", "faint"),
    (".hyperviz [data-role=eager]>rect,.hyperviz [data-role=wait]>rect,.hyperviz [data-role=output]>rect", "fill", "paper"),
    (".hyperviz [data-role=eager]>rect,.hyperviz [data-role=wait]>rect,.hyperviz [data-role=output]>rect", "stroke", "ink"),
    (".hyperviz [data-role=collective]>rect", "fill", "ink"),
    (".hyperviz [data-role=collective]>rect", "stroke", "ink"),
    (".hyperviz [data-role=collective]:not([data-paint])>text", "fill", "paper"),
    (".hyperviz [data-role=effect]>rect", "stroke", "alarm"),
    (".hyperviz [data-role=effect]>text>tspan", "fill", "alarm"),
    (".hyperviz [data-kind=input]>rect", "stroke", "ink"),
)


def style(prefix: str) -> str:
    """The style sheet; ``prefix`` begins the ids of the patterns that belong to it."""
    rules = [_SHAPES.replace("\n", ""), *_roles(), *_paints(prefix), _SCHEME]
    effect = f".hyperviz [data-role=effect]:not([data-paint])>rect{{fill:url(#{prefix}e) {LIGHT.neutral}}}"
    jupyter = f"@supports(color:light-dark(#000,#fff)){{.hv-paper{{fill:var(--jp-layout-color0,{_both(LIGHT.paper, DARK.paper)})}}}}"
    return "".join([*rules, effect, jupyter])


def _both(light: str, dark: str) -> str:
    return f"light-dark({light},{dark})"


def _set(what: str, light: str, dark: str) -> str:
    """A declaration for both themes; a reader that does not know ``light-dark`` keeps the first."""
    return f"{what}:{light};{what}:{_both(light, dark)}"


def _roles() -> Iterator[str]:
    for where, what, name in _COLOURS:
        yield f"{where}{{{_set(what, getattr(LIGHT, name), getattr(DARK, name))}}}"


def _paints(prefix: str) -> Iterator[str]:
    for index in range(NUM_PAINTS):
        light, dark = paint(index, LIGHT), paint(index, DARK)
        pattern = light.pattern != "plain"
        fill = f"fill:url(#{prefix}{index}) {light.fill}" if pattern else _set("fill", light.fill, dark.fill)
        yield f'#{prefix} [data-paint="{index}"]>rect{{{fill};{_set("stroke", light.line, dark.line)}}}'
        if pattern:
            yield f".hv-f{index}{{{_set('fill', light.fill, dark.fill)};{_set('stroke', light.mark, dark.mark)}}}"
