"""The timeline tab: the step as the graph has it above the step as planned, on one scale, tied to the graph view both ways."""

from __future__ import annotations

import json
from html import escape

import ipywidgets as widgets

from hyperviz import render
from hyperviz.snapshot import COMPUTE, Plan, Span, Timelines
from hyperviz.widgets.backend import Backend, Knobs
from hyperviz.widgets.background import Background
from hyperviz.widgets.communication_tab import link
from hyperviz.widgets.graph_view import GraphView
from hyperviz.widgets.markup import Html, Keyed, table, tag
from hyperviz.widgets.units import milliseconds

ZOOMS = {"the whole step": 1, "3 times": 3, "10 times": 10, "30 times": 30}


class TimelineTab(widgets.VBox):
    """Estimates once the tab is opened, and again for every plan that is looked at while it is open.

    Args:
        backend: estimates.
        background: where it does.
        view: the graph; a span that is clicked selects its node there, and what is selected there is outlined here.
    """

    def __init__(self, backend: Backend, background: Background, view: GraphView) -> None:
        self._backend, self._background, self._view = backend, background, view
        self._known: dict[tuple[str, str], Timelines | str] = {}
        self._knobs, self._open, self._shown = Knobs(), False, ("", "")
        names = backend.hardware()
        self._hardware = widgets.Dropdown(options=names, value=names[0], tooltip="Whose rates the times are estimated from")
        self._zoom = widgets.Dropdown(options=ZOOMS, value=1, tooltip="How much of the width one step takes")
        self._words, self._picture, self._mark, self._table = (widgets.HTML() for _ in range(4))
        knobs = widgets.HBox([_named("Estimated for", self._hardware), _named("Zoom", self._zoom)]).add_class("hv-knobs")
        super().__init__([self._words, knobs, self._mark, self._picture, self._table])
        self.add_class("hv-tab")
        self._hardware.observe(lambda _: self._ask(), "value")
        self._zoom.observe(lambda _: self._draw(), "value")
        view.observe(lambda _: self._mark_selected(), "selected")
        self._say("Open this tab to see the step in time.")

    @property
    def timelines(self) -> Timelines | None:
        """What is drawn; None before anything is."""
        found = self._known.get(self._shown)
        return found if isinstance(found, Timelines) else None

    @property
    def is_stale(self) -> bool:
        """Whether what is drawn belongs to other knobs or hardware than the present ones."""
        return self.timelines is not None and self._shown != self._present

    def load(self) -> None:
        """The tab was opened."""
        self._open = True
        self._ask()

    def show(self, knobs: Knobs) -> None:
        """Follows the knobs."""
        self._knobs = knobs
        if self._open:
            self._ask()

    @property
    def _present(self) -> tuple[str, str]:
        return str(self._knobs), self._hardware.value or ""

    def _ask(self) -> None:
        key, knobs, hardware = self._present, self._knobs, self._hardware.value or ""
        if key in self._known:
            self._arrive(key)
            return
        shown = " on ".join(self._shown)
        self._say("Being estimated…" if self.timelines is None else f"This belongs to {shown}: being estimated anew…")
        (self.add_class if self.timelines else self.remove_class)("hv-stale")
        self._background.ask("timeline", lambda: self._estimate(key, knobs, hardware))

    def _estimate(self, key: tuple[str, str], knobs: Knobs, hardware: str) -> None:
        try:
            self._known[key] = self._backend.timelines(knobs, hardware)
        except Exception as error:  # whatever it is, it is said where the picture would be
            self._known[key] = f"The timeline cannot be estimated: {error}"
        if key == self._present:
            self._arrive(key)

    def _arrive(self, key: tuple[str, str]) -> None:
        self._shown = key
        self.remove_class("hv-stale")
        self._draw()

    def _draw(self) -> None:
        found = self._known.get(self._shown)
        if not isinstance(found, Timelines):
            self._picture.value = self._table.value = ""
            self._say(found or "", "hv-error")
            return
        first = {region.name: next(iter(region.nodes), "") for region in self._view.plan.regions}
        width = render.TIMELINE_WIDTH * (self._zoom.value or 1)
        try:
            picture = render.timeline_svg(found.timelines, node_of=first, width=width, key=self._view.still.key)
        except Exception as error:  # the table says the same
            picture = tag("p", f"The timeline cannot be drawn: {error}", kind="hv-error", role="alert")
        self._picture.value = f'<div class="hv-timeline{" hv-fit" if self._zoom.value == 1 else ""}" tabindex="0">{picture}</div>'
        self._table.value = _tables(found, first)
        self._mark_selected()

    def _mark_selected(self) -> None:
        """Outlines what the graph has selected, and says when it runs."""
        found = self.timelines
        if found is None:
            return
        names = _names_of(self._view.plan, self._view.selected)
        rules = ", ".join(f".hv-timeline [data-span={json.dumps(name)}] > rect:first-child" for name in names)
        style = f"{rules} {{ stroke: var(--hv-brand) !important; stroke-width: 3px; }}".replace("<", "\\3c ") if names else ""
        self._mark.value = f"<style>{style}</style>" if style else ""
        spans = [(timeline.title, span) for timeline in found.timelines for span in timeline.spans if span.node in names]
        label = " · ".join(dict.fromkeys(timeline.label for timeline in found.timelines))
        told = "; ".join(f"{title}: {_when(span)}" for title, span in spans[:6])
        self._say(f"{label}. {self._view.selected}: {told}" if told else f"{label}. Click a span to select its node in the graph.")

    def _say(self, words: str, look: str = "hv-hint") -> None:
        self._words.value = tag("p", words, kind=look, role="status") if words else ""


def _names_of(plan: Plan, node: str) -> tuple[str, ...]:
    """What a node's time may stand under: its own name, its region's, and that of the collective that it waits for."""
    if not node:
        return ()
    region = plan.region_of().get(node)
    launches = [one.launch for one in plan.graph.collectives if node in one.waits]
    return (node, *([region.name] if region else []), *launches)


def _tables(timelines: Timelines, node_of: dict[str, str]) -> Html:
    """The same as rows, to be read, sorted and walked by keyboard; and the whole as text."""
    heads = ("Lane", "What", "Of", "From", "Takes", "In words")
    folded = [
        tag(
            "details",
            tag("summary", f"{timeline.title}: {len(timeline.spans)} spans as a table"),
            table(heads, [_row(span, node_of) for span in timeline.spans], timeline.label, numeric=(3, 4), sortable=True),
            kind="hv-how",
        )
        for timeline in timelines.timelines
    ]
    text = tag("details", tag("summary", "as text"), Html(f"<pre>{escape(str(timelines))}</pre>"), kind="hv-how")
    return Html("".join([*folded, text]))


def _row(span: Span, node_of: dict[str, str]) -> tuple[object, ...]:
    duration = span.duration_ms
    takes = Keyed("unknown", -1.0) if duration is None else Keyed(milliseconds(duration), duration)
    kind = "stands still" if span.kind == "exposed" else span.kind
    start = Keyed(milliseconds(span.start_ms), span.start_ms)
    return span.lane, kind, link(node_of.get(span.node, span.node), span.node), start, takes, span.what


def _when(span: Span) -> str:
    what = "stands still at it" if span.kind == "exposed" else "computes" if span.lane == COMPUTE else "communicates"
    until = "an unknown moment" if span.end_ms is None else milliseconds(span.end_ms)
    return f"{span.node} {what} from {milliseconds(span.start_ms)} to {until}"


def _named(name: str, widget: widgets.Widget) -> widgets.HBox:
    return widgets.HBox([widgets.HTML(tag("span", name, kind="hv-label")), widget]).add_class("hv-knob")
