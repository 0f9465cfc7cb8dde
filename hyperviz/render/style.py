"""The style sheet inside every SVG: roles and regions by attribute, light and dark, with plain colours first for simple viewers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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

.hyperviz text{{font:11px {FONT};text-anchor:middle;stroke:none}}
.hyperviz tspan{{font-weight:700}}
.hyperviz .hv-words{{font-family:{HEADING_FONT}}}
.hv-band text{{font-weight:600}}
.hv-band path{{fill:none;stroke-width:1.5}}
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

# What a view that listens may switch on: what is selected or under the pointer, what a search left out.
_STATES = """
.hyperviz:focus-visible{outline:2px solid #2f81f7;outline-offset:-2px}
.hyperviz[tabindex] .hv-node{cursor:pointer}
.hv-active .hv-edge,.hv-active .hv-saved{opacity:.13}
.hv-active .hv-lit{opacity:1;stroke-width:2.4}
.hyperviz .hv-node.hv-selected>rect{stroke-width:4}
.hyperviz .hv-dim{opacity:.14}
"""

_COLOURS = (
    (".hv-paper", "fill", "paper"),
    (".hv-panel>rect", "fill", "panel"),
    (".hyperviz text", "fill", "ink"),
    (".hv-band path", "stroke", "faint"),
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
    (".hv-fe", "fill", "neutral"),
    (".hv-fe", "stroke", "hatch"),
)
_STATE_COLOURS = (
    (".hv-active .hv-edge.hv-lit", "stroke", "ink"),
    (".hyperviz .hv-node.hv-selected>rect", "stroke", "ink"),
)


def style(prefix: str, paints: Iterable[int] = range(NUM_PAINTS)) -> str:
    """The style sheet; ``prefix`` is the id of the SVG and begins the ids of its patterns. Only the given paints are in it."""
    effect = f"#{prefix} [data-role=effect]:not([data-paint])>rect{{fill:url(#{prefix}e) {LIGHT.neutral}}}"
    tips = f"#{prefix} .hv-edge:not(.hv-far){{marker-end:url(#{prefix}t)}}"
    jupyter = f"@supports(color:light-dark(#000,#fff)){{.hv-paper{{fill:var(--jp-layout-color0,{_both(LIGHT.paper, DARK.paper)})}}}}"
    looks = (rule for index in paints for rule in _paint(prefix, index))
    return "".join([_SHAPES, *_themed(_COLOURS), *looks, effect, tips, _STATES, *_themed(_STATE_COLOURS), _SCHEME, jupyter]).replace(
        "\n", ""
    )


def _both(light: str, dark: str) -> str:
    return f"light-dark({light},{dark})"


def _set(what: str, light: str, dark: str) -> str:
    """A declaration for both themes; a reader that does not know ``light-dark`` keeps the first."""
    return f"{what}:{light};{what}:{_both(light, dark)}"


def _themed(colours: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    for where, what, name in colours:
        yield f"{where}{{{_set(what, getattr(LIGHT, name), getattr(DARK, name))}}}"


def _paint(prefix: str, index: int) -> Iterator[str]:
    light, dark = paint(index, LIGHT), paint(index, DARK)
    yield f'.hyperviz [data-paint="{index}"]>rect{{{_set("stroke", light.line, dark.line)}}}'
    if light.pattern == "plain":
        yield f'.hyperviz [data-paint="{index}"]>rect{{{_set("fill", light.fill, dark.fill)}}}'
    else:
        yield f'#{prefix} [data-paint="{index}"]>rect{{fill:url(#{prefix}{index}) {light.fill}}}'
        yield f".hv-f{index}{{{_set('fill', light.fill, dark.fill)};{_set('stroke', light.mark, dark.mark)}}}"
