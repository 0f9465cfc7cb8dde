"""A plan as DOT, Graphviz's language, for other tools to lay out and draw."""

from __future__ import annotations

import graphviz

from hyperviz.render.labels import clean
from hyperviz.render.palette import LIGHT, badge, paint, paint_index
from hyperviz.render.parts import is_pill, label
from hyperviz.render.scene import title, tooltip
from hyperviz.snapshot import NodeSnapshot, Plan

_SHAPES = {
    "placeholder": {"style": "rounded,filled", "fillcolor": LIGHT.neutral, "fontsize": "9", "height": "0.2"},
    "compute": {"style": "rounded,filled", "fillcolor": LIGHT.neutral},
    "eager": {"style": "dashed,filled", "fillcolor": LIGHT.paper, "color": LIGHT.ink},
    "collective": {"shape": "cds", "style": "filled", "fillcolor": LIGHT.ink, "fontcolor": LIGHT.paper},
    "wait": {"shape": "oval", "style": "filled", "fillcolor": LIGHT.paper, "color": LIGHT.ink, "penwidth": "2"},
    "effect": {"shape": "octagon", "style": "filled", "fillcolor": LIGHT.neutral, "color": LIGHT.alarm, "penwidth": "2"},
    "output": {"shape": "box", "style": "filled", "fillcolor": LIGHT.paper, "color": LIGHT.ink, "penwidth": "2"},
}

_SAVED = {"constraint": "false", "color": LIGHT.saved, "style": "dashed"}
_PAIR = {"color": LIGHT.ink, "style": "bold", "penwidth": "2.4"}


def dot(plan: Plan) -> str:
    """The graph with its regions and roles. Saved values do not constrain the layout; a bold edge ties a collective to its wait.

    Nodes are called ``n0``, ``n1``, … in execution order, so no name can break the syntax; the attributes ``fx`` (the name), ``role``,
    ``region`` and ``phase`` hold what they stand for.
    """
    graph = graphviz.Digraph(strict=True)
    heading = f"{title(plan)}\n{plan}"
    graph.attr("graph", label=graphviz.escape(heading), labelloc="t", fontname="Helvetica", ranksep="0.2", nodesep="0.15")
    graph.attr("node", shape="box", fontname="Courier", fontsize="11", height="0.3", margin="0.1,0.02", color=LIGHT.faint)
    graph.attr("edge", arrowsize="0.5", color=LIGHT.faint)
    number = {node.name: f"n{index}" for index, node in enumerate(plan.graph.nodes)}
    regions = {name: region.number for name, region in plan.region_of().items()}
    for node in plan.graph.nodes:
        graph.node(number[node.name], _attributes=_attributes(node, plan, regions.get(node.name)))
    saved = {(a.name, b.name) for a, b in plan.graph.saved_values()}
    edges = {(a.name, b.name): _SAVED if (a.name, b.name) in saved else {} for a, b in plan.graph.edges()}
    edges |= {(one.launch, wait): _PAIR for one in plan.graph.collectives for wait in one.waits if wait != one.launch}
    for (start, end), attributes in edges.items():
        graph.edge(number[start], number[end], _attributes=attributes)
    return graph.source


def _attributes(node: NodeSnapshot, plan: Plan, region: int | None) -> dict[str, str]:
    role = plan.roles[node.name]
    words = f"{badge(role, region)} {label(node)}".strip()
    attributes = {"label": graphviz.escape(words), "tooltip": graphviz.escape(tooltip(node)), **_SHAPES[role]}
    if region is not None:
        look = paint(paint_index(region), LIGHT)
        attributes |= {"fillcolor": look.fill, "color": look.line, "fontcolor": LIGHT.ink, "region": f"region_{region}"}
    kind = {"kind": node.kind} if is_pill(node) and node.kind else {}
    return {**attributes, "fx": graphviz.escape(clean(node.name)), "role": role, "phase": node.phase, **kind}
