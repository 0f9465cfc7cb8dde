"""The communication tab: every collective with its wait, as a table that can be sorted and that leads to the nodes."""

from __future__ import annotations

from hyperviz import render
from hyperviz.render import CommunicationRow
from hyperviz.snapshot import Plan
from hyperviz.widgets.markup import Html, Keyed, table, tag
from hyperviz.widgets.units import size

_HEADINGS = ("Collective", "Moves", "Phase", "Payload", "At work inside", "Window", "Group", "Bucket", "Launch", "Wait")
_WORDS = (
    "The window of a collective is what lies between its launch and its wait: compute in there can hide it. A plan keeps the window where "
    "all of that compute must stay inside; an empty window hides nothing, whatever is planned. In a region that holds the launch or the "
    "wait, Inductor decides the order."
)
_LOOKS = {
    "kept": ("✓", "good"),
    "lost": ("✗", "bad"),
    "empty": ("∅", "idle"),
    "Inductor decides": ("?", "note"),
    "never waited for": ("!", "bad"),
}
"""A window's words → its sign, and how it is coloured."""


def communication_tables(plan: Plan) -> Html:
    """How many windows are kept, and a row for each collective."""
    rows = render.communication(plan)
    summary = tag("p", render.summary_of_windows(plan) + ".", kind="hv-note")
    lines = table(_HEADINGS, map(_row, rows), "Collectives, in the order of their launches", numeric=(3, 4), sortable=True)
    return Html(summary + lines + tag("p", _WORDS, kind="hv-hint"))


def _row(row: CommunicationRow) -> tuple[object, ...]:
    one = row.collective
    return (
        Keyed(link(one.launch, f"{row.number} {one.kind}"), row.number),
        tag("code" if len(row.moves) == 1 else "span", row.what, title=", ".join(row.moves)) if row.what else "",
        row.phase,
        Keyed(size(one.payload_bytes), -1 if one.payload_bytes is None else one.payload_bytes),
        len(one.compute_inside),
        _window(row.window),
        row.group,
        one.bucket,
        link(one.launch),
        Html(" ".join(map(link, one.waits))) if one.waits else "none",
    )


def link(name: str, words: str = "") -> Html:
    """A button that selects a node in the graph above."""
    return tag("button", words or name, kind="hv-link", type="button", data_node=name, title="Select it in the graph")


def _window(words: str) -> Html:
    sign, look = _LOOKS.get(words, ("◐", "note"))
    return tag("span", tag("span", sign, kind="hv-sign", aria_hidden="true"), words, kind=f"hv-verdict hv-{look}")
