"""The style sheet inside every SVG: roles and regions by attribute, light and dark, with plain colours first for simple viewers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hyperviz.render.palette import DARK, LIGHT, NUM_PAINTS, paint

FONT = 'ui-monospace,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace'
HEADING_FONT = 'system-ui,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans","DejaVu Sans",Arial,sans-serif'

# In a page the colour scheme is the page's; JupyterLab says its own on the body; a file of its own follows the reader's system.
_SCHEME = (
    "svg.hyperviz:root{color-scheme:light dark}"
    '[data-jp-theme-light="true"] .hyperviz{color-scheme:light}'
    '[data-jp-theme-light="false"] .hyperviz{color-scheme:dark}'
)

# Long edges are not dashed: thousands of dots make a browser slow, and only the few that are lit need to be told apart.
_SHAPES = f"""

.hyperviz text{{font:11px {FONT};text-anchor:middle;stroke:none}}
.hyperviz tspan{{font-weight:700}}
.hyperviz .hv-words{{font-family:{HEADING_FONT}}}
.hv-band text{{font-weight:600}}
.hv-band path{{fill:none;stroke-width:1.5}}
.hv-edge,.hv-saved{{fill:none;stroke-width:1}}
.hv-far{{opacity:.32;stroke-width:.8}}
.hv-saved{{stroke-width:1;opacity:.4}}
.hv-pair{{stroke-width:2.4;stroke-dasharray:8 2.5 2 2.5}}
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
.hv-far.hv-lit{stroke-dasharray:5 4}
.hyperviz :is(.hv-inside,.hv-mate,.hv-selected)>rect{vector-effect:non-scaling-stroke}
.hyperviz .hv-inside>rect{stroke-width:2.2}
.hyperviz .hv-mate>rect{stroke-width:3.2;stroke-dasharray:7 2 2 2}
.hyperviz .hv-selected>rect{stroke-width:4}
.hyperviz .hv-dim{opacity:.14}
.hv-far-off .hv-node>text{visibility:hidden}
"""

_COLOURS = (
    (".hv-paper", "fill", "paper"),
    (".hv-panel>rect", "fill", "panel"),
    (".hyperviz text", "fill", "ink"),
    (".hyperviz .hv-caveat", "fill", "alarm"),
    (".hv-band path", "stroke", "faint"),
    (".hv-edge", "stroke", "faint"),
    (".hv-pair", "stroke", "ink"),
    (".hyperviz .hv-tip", "fill", "faint"),
    (".hv-saved", "stroke", "saved"),
    (".hyperviz [data-role]>rect", "fill", "neutral"),
    (".hyperviz [data-role]>rect", "stroke", "faint"),
    (".hyperviz [data-role=eager]>rect,.hyperviz [data-role=wait]>rect,.hyperviz [data-role=output]>rect", "fill", "paper"),
    (".hyperviz [data-role=eager]>rect,.hyperviz [data-role=wait]>rect,.hyperviz [data-role=output]>rect", "stroke", "ink"),
    (".hyperviz [data-role=collective]>rect", "fill", "ink"),
    (".hyperviz [data-role=collective]>rect", "stroke", "ink"),
    (".hyperviz [data-role=collective]>text", "fill", "paper"),
    (".hyperviz [data-paint]>text", "fill", "ink"),
    (".hyperviz [data-role=effect]>rect", "stroke", "alarm"),
    (".hyperviz [data-role=effect]>text>tspan", "fill", "alarm"),
    (".hyperviz [data-kind=input]>rect", "stroke", "ink"),
    (".hv-fe", "fill", "neutral"),
    (".hv-fe", "stroke", "hatch"),
)
_STATE_COLOURS = (
    (".hv-active .hv-edge.hv-lit", "stroke", "ink"),
    (".hyperviz .hv-inside>rect,.hyperviz .hv-selected>rect", "stroke", "ink"),
    (".hyperviz .hv-mate>rect", "stroke", "alarm"),
)


def style(prefix: str, paints: Iterable[int] = range(NUM_PAINTS)) -> str:
    """The style sheet; ``prefix`` is the id of the SVG and begins the ids of its patterns. Only the given paints are in it.

    All colours are there twice: plain, for readers that know little CSS (one of them takes ``light-dark`` for black, another fails on it),
    and again, in the same order, where only those look who understand it.
    """
    paints = list(paints)
    effect = f"#{prefix} [data-role=effect]>rect{{fill:url(#{prefix}e)}}"
    tips = f"#{prefix} .hv-edge{{marker-end:url(#{prefix}t)}}#{prefix} .hv-far{{marker-end:none}}"
    plain = [*_named(_plain), effect, *_painted(_plain, prefix, paints), *_patterned(prefix, paints)]
    themed = "".join([*_named(_both), *_painted(_both, prefix, paints), _JUPYTER])
    rules = [_SHAPES, *plain, tips, _STATES, _SCHEME, f"@supports(color:light-dark(#000,#fff)){{{themed}}}"]
    return "".join(rules).replace("\n", "")


Colour = Callable[[str, str], str]
"""What stands for a colour of the light theme and its counterpart of the dark one."""


def _plain(light: str, dark: str) -> str:
    return light


def _both(light: str, dark: str) -> str:
    return f"light-dark({light},{dark})"


_JUPYTER = f".hv-paper{{fill:var(--jp-layout-color0,{_both(LIGHT.paper, DARK.paper)})}}"


def _painted(colour: Colour, prefix: str, paints: Iterable[int]) -> Iterator[str]:
    """What regions look like: within this SVG only, because another one's patterns may be hidden with it, and then paint nothing."""
    for index in paints:
        light, dark = paint(index, LIGHT), paint(index, DARK)
        fill, mark, line = colour(light.fill, dark.fill), colour(light.mark, dark.mark), colour(light.line, dark.line)
        if light.pattern == "plain":
            yield f'#{prefix} [data-paint="{index}"]>rect{{fill:{fill};stroke:{line}}}'
        else:
            yield f'#{prefix} [data-paint="{index}"]>rect{{stroke:{line}}}.hv-f{index}{{fill:{fill};stroke:{mark}}}'


def _patterned(prefix: str, paints: Iterable[int]) -> Iterator[str]:
    for index in paints:
        if paint(index, LIGHT).pattern != "plain":
            yield f'#{prefix} [data-paint="{index}"]>rect{{fill:url(#{prefix}{index})}}'


def _named(colour: Colour) -> Iterator[str]:
    for where, what, name in _COLOURS:
        yield f"{where}{{{what}:{colour(getattr(LIGHT, name), getattr(DARK, name))}}}"
    for where, what, name in _STATE_COLOURS:
        yield f"{where}{{{what}:{colour(getattr(LIGHT, name), getattr(DARK, name))}!important}}"
