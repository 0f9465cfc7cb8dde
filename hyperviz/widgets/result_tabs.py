"""The tabs below the graph: the plan in words, timings, equality, settings, log."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets as widgets

from hyperviz import render
from hyperviz.snapshot import Equality, Plan, Timings
from hyperviz.widgets.communication_tab import communication_tables
from hyperviz.widgets.figures import figure
from hyperviz.widgets.logbook import Logbook
from hyperviz.widgets.markup import Html, tag
from hyperviz.widgets.outcome import Outcome
from hyperviz.widgets.ranks_tab import rank_widgets
from hyperviz.widgets.result_tables import equality_table, plan_tables, report_table, timings_table
from hyperviz.widgets.settings_editor import SettingsEditor
from hyperviz.widgets.timeline_tab import TimelineTab


class ResultTabs(widgets.Tab):
    """One tab for each kind of fact; those that show what was compiled say so when it is no longer what is planned.

    Args:
        editor: of the settings.
        logbook: what happened.
        communicates: whether the graph does, and so has a tab for it.
        where: which real ranks compile and measure, and so have a tab; empty where this process does.
        evidence: title → tab, of what can be told before anything is compiled.
    """

    def __init__(
        self,
        editor: SettingsEditor,
        logbook: Logbook,
        *,
        communicates: bool = False,
        where: str = "",
        evidence: Mapping[str, widgets.Widget] | None = None,
    ) -> None:
        self._editor, self._where, self._caveat = editor, where, ""
        self._plan, self._communication, self._timings, self._equality, self._ranks = (widgets.VBox().add_class("hv-tab") for _ in range(5))
        tabs: dict[str, widgets.Widget] = {"Plan": self._plan}
        tabs |= {"Communication": self._communication} if communicates else {}
        tabs |= evidence or {}
        tabs |= {"Timings": self._timings, "Equality": self._equality}
        tabs |= {"Ranks": self._ranks} if where else {}
        tabs |= {"Settings": editor, "Log": logbook}
        super().__init__(list(tabs.values()), titles=tuple(tabs))
        self.add_class("hv-tabs")
        self.observe(lambda _: self._on_open(), "selected_index")
        self.show_outcome(None)

    def bring(self, title: str) -> None:
        """Brings the tab with that title to the front.

        Raises:
            ValueError: there is none.
        """
        self.selected_index = self.titles.index(title)

    def show_plan(self, plan: Plan) -> None:
        """Fills the plan and the communication tab."""
        self._plan.children = [widgets.HTML(plan_tables(plan))]
        self._communication.children = [widgets.HTML(communication_tables(plan))]
        caveat = "" if self._where else plan.graph.caveat  # real ranks can run what is drawn for a fake world
        if caveat != self._caveat:
            self._caveat = caveat
            self.show_outcome(self._outcome)

    def show_outcome(self, outcome: Outcome | None) -> None:
        """Fills the tabs of timings, equality and ranks."""
        self._outcome = outcome
        timings, equality, ranks = (outcome.timings, outcome.equality, outcome.ranks) if outcome else (None, None, None)
        self._timings.children = [widgets.HTML(), *_timings(timings, self._caveat), *_report(outcome)]
        self._equality.children = [widgets.HTML(), *_equality(equality, self._caveat)]
        hint = f"Compile to run the step on {self._where}: each compiles, compares and times its own part."
        self._ranks.children = [widgets.HTML(), *(rank_widgets(ranks) if ranks else [_hint(hint)])]

    def show_stale(self, words: str) -> None:
        """Marks what was compiled as out of date, with the reason; ``""`` says that it is not."""
        for tab in (self._timings, self._equality, self._ranks):
            tab.add_class("hv-stale") if words else tab.remove_class("hv-stale")
            note = tab.children[0]
            assert isinstance(note, widgets.HTML)
            note.value = tag("p", words, kind="hv-stale-note") if words else ""

    def _on_open(self) -> None:
        opened = None if self.selected_index is None else self.children[self.selected_index]
        if isinstance(opened, SettingsEditor | TimelineTab):
            opened.load()


def _timings(timings: Timings | None, caveat: str) -> list[widgets.Widget]:
    if timings is None:
        return [_not_run(caveat)] if caveat else [_hint("Compile to time eager and compiled side by side, in interleaved rounds.")]
    return [figure(lambda theme: render.plot_timings(timings, theme=theme), "timings"), widgets.HTML(timings_table(timings))]


def _equality(equality: Equality | None, caveat: str) -> list[widgets.Widget]:
    if equality is None:
        return [_not_run(caveat)] if caveat else [_hint("Compile to compare every output, bit for bit, with the eager one.")]
    return [figure(lambda theme: render.plot_equality(equality, theme=theme), "equality"), widgets.HTML(equality_table(equality))]


def _report(outcome: Outcome | None) -> list[widgets.Widget]:
    return [widgets.HTML(report_table(outcome.report))] if outcome else []


def _not_run(caveat: str) -> widgets.HTML:
    return widgets.HTML(tag("p", caveat, kind="hv-not-run"))


def _hint(words: str) -> widgets.HTML:
    return widgets.HTML(Html(tag("p", words, kind="hv-hint")))
