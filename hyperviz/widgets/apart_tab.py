"""Why are these two regions not one? Answered for any two that a person selects."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from hyperviz.snapshot import Apart, Between, Plan, hold_words, path_words
from hyperviz.widgets.backend import Backend, Knobs
from hyperviz.widgets.background import Background
from hyperviz.widgets.communication_tab import link
from hyperviz.widgets.graph_view import GraphView
from hyperviz.widgets.markup import Html, table, tag
from hyperviz.widgets.units import milliseconds, size

_HINT = (
    "Select two nodes in the graph, one after the other, or write the names of two regions or nodes. In the graph, Shift and a click on "
    "the second, or the key x on each of the two, asks at once."
)
_MOST_ROWS = 40


class ApartTab(widgets.VBox):
    """Two names and the answer. The names follow what is selected in the graph: the second is selected now, the first was before it.

    Args:
        backend: answers.
        background: where it does.
        view: the graph.
    """

    def __init__(self, backend: Backend, background: Background, view: GraphView) -> None:
        self._backend, self._background, self._knobs = backend, background, Knobs()
        self._first = widgets.Combobox(placeholder="region or node", ensure_option=False, continuous_update=False, description="First")
        self._second = widgets.Combobox(placeholder="region or node", ensure_option=False, continuous_update=False, description="Second")
        self._button = widgets.Button(description="Why not one region?", tooltip="Ask about the two")
        self._answer = widgets.HTML(tag("p", _HINT, kind="hv-hint"))
        self._button.on_click(lambda _: self.ask(self._first.value, self._second.value))
        form = widgets.HBox([self._first, self._second, self._button]).add_class("hv-knobs")
        super().__init__([form, self._answer])
        self.add_class("hv-tab")
        view.observe(self._on_select, "selected")

    def show(self, knobs: Knobs, plan: Plan) -> None:
        """Follows the knobs; an answer about another plan is taken away."""
        names = tuple(region.name for region in plan.regions)
        self._first.options = self._second.options = names
        if knobs != self._knobs:
            self._knobs = knobs
            self._answer.value = tag("p", _HINT, kind="hv-hint")

    def ask(self, first: str, second: str) -> None:
        """Asks about two names, as the button does."""
        self._first.value, self._second.value = first.strip(), second.strip()
        if not (first.strip() and second.strip()):
            self._answer.value = tag("p", f"Two names are needed. {_HINT}", kind="hv-error", role="alert")
            return
        self._answer.value = tag("p", f"Why are {first} and {second} not one region? Being looked up…", kind="hv-hint", role="status")
        knobs = self._knobs
        self._background.ask("apart", lambda: self._find(knobs, first.strip(), second.strip()))

    def _find(self, knobs: Knobs, first: str, second: str) -> None:
        try:
            answer = answer_of(self._backend.why_apart(knobs, first, second))
        except Exception as error:  # an unknown name, with the near miss, or whatever else
            answer = tag("p", str(error), kind="hv-error", role="alert")
        if knobs == self._knobs:
            self._answer.value = answer

    def _on_select(self, change: dict[str, Any]) -> None:
        if change["new"]:
            self._first.value, self._second.value = self._second.value, change["new"]


def answer_of(apart: Apart) -> Html:
    """The sentence in big words, then what it rests on."""
    head = tag("p", tag("b", apart.sentence), kind="hv-message hv-note", role="status")
    asked = tag("p", _asked(apart), kind="hv-hint") if apart.asked != (apart.first, apart.second) else Html("")
    parts = [asked, head, _path(apart), _between(apart), _costs(apart)]
    return tag("div", *parts, kind="hv-apart")


def _asked(apart: Apart) -> str:
    """The two names, and the regions that they stand for."""
    regions = f", in {apart.first} and {apart.second}" if apart.first and apart.second else ""
    return f"{apart.asked[0]} and {apart.asked[1]}{regions}"


def _path(apart: Apart) -> Html:
    if not apart.path:
        return Html("")
    links = [link(apart.path[0].first), *(Html(f"{tag('span', f' → {tie.kind} → ')}{link(tie.second)}") for tie in apart.path)]
    return tag("p", "What forbids it: ", *links, kind="hv-links", title=path_words(apart.path))


def _between(apart: Apart) -> Html:
    if not apart.between:
        return Html("")
    rows = [_row(one) for one in apart.between[:_MOST_ROWS]]
    more = len(apart.between) - len(rows)
    heads = ("Eager call between", "Role", f"Behind {apart.first}", f"Ahead of {apart.second}", "Why it is eager")
    return Html(table(heads, rows, "What stands between") + (tag("p", f"and {more} more", kind="hv-hint") if more else ""))


def _row(one: Between) -> tuple[object, ...]:
    return link(one.node), one.role, hold_words(one.behind), hold_words(one.ahead), one.reason


def _costs(apart: Apart) -> Html:
    if not apart.label:
        return Html("")
    rows = [
        (
            link(one.launch),
            *("unknown" if value is None else milliseconds(value) for value in (one.duration_ms, one.hidden_ms, one.joined_ms)),
            "✓ allowed" if one.allowed else "✗ too dear",
        )
        for one in apart.costs
    ]
    heads = ("Would hide less", "Takes", "Hidden now", "Hidden as one", "By the limits")
    lines = table(heads, rows, "What it would cost", numeric=(1, 2, 3)) if rows else tag("p", "No collective would hide less.")
    peak = tag("p", f"Memory peak {size(apart.peak_bytes)} → {size(apart.joined_peak_bytes)}; {apart.label}.", kind="hv-hint")
    return Html(lines + peak)
