"""The tabs below the graph: the plan in words, timings, equality, settings, log."""

from __future__ import annotations

import io
from collections.abc import Callable

import ipywidgets as widgets
from matplotlib.figure import Figure

from hyperviz import render
from hyperviz.snapshot import Equality, Plan, Timings
from hyperviz.widgets.logbook import Logbook
from hyperviz.widgets.markup import Html, tag
from hyperviz.widgets.outcome import Outcome
from hyperviz.widgets.result_tables import equality_table, plan_tables, report_table, timings_table
from hyperviz.widgets.settings_editor import SettingsEditor

TITLES = ("Plan", "Timings", "Equality", "Settings", "Log")


class ResultTabs(widgets.Tab):
    """Five tabs; those that show what was compiled say so when it is no longer what is planned."""

    def __init__(self, editor: SettingsEditor, logbook: Logbook) -> None:
        self._editor = editor
        self._plan, self._timings, self._equality = (widgets.VBox().add_class("hv-tab") for _ in range(3))
        super().__init__([self._plan, self._timings, self._equality, editor, logbook], titles=TITLES)
        self.add_class("hv-tabs")
        self.observe(lambda _: self._on_open(), "selected_index")
        self._caveat = ""
        self.show_outcome(None)

    def show_plan(self, plan: Plan) -> None:
        """Fills the plan tab."""
        self._plan.children = [widgets.HTML(plan_tables(plan))]
        if plan.graph.caveat != self._caveat:
            self._caveat = plan.graph.caveat
            self.show_outcome(self._outcome)

    def show_outcome(self, outcome: Outcome | None) -> None:
        """Fills the timings and the equality tab."""
        self._outcome = outcome
        timings, equality = (outcome.timings, outcome.equality) if outcome else (None, None)
        self._timings.children = [widgets.HTML(), *_timings(timings, self._caveat), *_report(outcome)]
        self._equality.children = [widgets.HTML(), *_equality(equality, self._caveat)]

    def show_stale(self, words: str) -> None:
        """Marks what was compiled as out of date, with the reason; ``""`` says that it is not."""
        for tab in (self._timings, self._equality):
            tab.add_class("hv-stale") if words else tab.remove_class("hv-stale")
            note = tab.children[0]
            assert isinstance(note, widgets.HTML)
            note.value = tag("p", words, kind="hv-stale-note") if words else ""

    def _on_open(self) -> None:
        if self.selected_index == TITLES.index("Settings"):
            self._editor.load()


def _timings(timings: Timings | None, caveat: str) -> list[widgets.Widget]:
    if timings is None:
        return [_not_run(caveat)] if caveat else [_hint("Compile to time eager and compiled side by side, in interleaved rounds.")]
    return [_figure(lambda theme: render.plot_timings(timings, theme=theme), "timings"), widgets.HTML(timings_table(timings))]


def _equality(equality: Equality | None, caveat: str) -> list[widgets.Widget]:
    if equality is None:
        return [_not_run(caveat)] if caveat else [_hint("Compile to compare every output, bit for bit, with the eager one.")]
    return [_figure(lambda theme: render.plot_equality(equality, theme=theme), "equality"), widgets.HTML(equality_table(equality))]


def _report(outcome: Outcome | None) -> list[widgets.Widget]:
    return [widgets.HTML(report_table(outcome.report))] if outcome else []


def _figure(draw: Callable[[str], Figure], name: str) -> widgets.Widget:
    """A figure as an SVG image for each theme, of which the page shows one; where it cannot be drawn, the sentence that says why."""
    try:
        images = [_image(draw(theme)).add_class(f"hv-in-{theme}") for theme in ("light", "dark")]
    except Exception as error:  # a picture that fails must not take its table along, which says the same
        return widgets.HTML(tag("p", f"The {name} cannot be drawn: {error}", kind="hv-error", role="alert"))
    return widgets.VBox(images).add_class("hv-tab")


def _image(figure: Figure) -> widgets.Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight")
    return widgets.Image(value=buffer.getvalue(), format="svg+xml").add_class("hv-figure")


def _not_run(caveat: str) -> widgets.HTML:
    return widgets.HTML(tag("p", caveat, kind="hv-not-run"))


def _hint(words: str) -> widgets.HTML:
    return widgets.HTML(Html(tag("p", words, kind="hv-hint")))
