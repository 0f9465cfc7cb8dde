"""The explorer: knobs above, the graph in the middle, what came of it below."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import ipywidgets as widgets

from hyperviz.snapshot import CompileReport, Equality, Plan, RankReports, Timings
from hyperviz.widgets.backend import Backend, Knobs, Stopped
from hyperviz.widgets.cards import VERDICT_WORDS, cards
from hyperviz.widgets.evidence import Evidence
from hyperviz.widgets.graph_view import GraphView
from hyperviz.widgets.knob_panel import KnobPanel
from hyperviz.widgets.logbook import Logbook
from hyperviz.widgets.markup import tag, text
from hyperviz.widgets.outcome import Outcome, effect_of_settings, effect_on_plan, same_regions, speedup
from hyperviz.widgets.progress import ProgressPanel
from hyperviz.widgets.result_tabs import ResultTabs
from hyperviz.widgets.settings_editor import SettingsEditor
from hyperviz.widgets.units import count, seconds
from hyperviz.widgets.worker import Worker

_Result = TypeVar("_Result")
SLOW_S = 0.7


class Explorer(widgets.VBox):
    """Turn a knob and see what would be compiled; compile, and see whether it is the same and what it bought.

    Planning happens at once, on every turn. Compiling, comparing and timing run in a worker thread, so the kernel stays free.
    Whatever the backend raises is shown in the explorer, and whole in its log.

    Args:
        backend: plans, compiles, compares and times.
        knobs: where the knobs stand at first.

    Attributes:
        view: the graph.
    """

    def __init__(self, backend: Backend, knobs: Knobs | None = None) -> None:
        self._backend, self._knobs = backend, knobs or Knobs()
        self._outcome: Outcome | None = None
        self._worker, self._changing = Worker(), threading.RLock()
        self.view = GraphView(backend.plan(self._knobs))
        self._cards, self._message = widgets.HTML(), widgets.HTML()
        self._panel = KnobPanel(self._knobs, self._on_turn, self._on_compile, self.stop, where=backend.where)
        self._editor = SettingsEditor(backend, lambda settings: self._turn(self._knobs.replace(settings=settings)))
        self._progress, self._book = ProgressPanel(), Logbook()
        self._evidence = Evidence(backend, self.view, self._panel.show_costs)
        has_links, evidence = bool(self.plan.graph.collectives), self._evidence.tabs
        self._tabs = ResultTabs(self._editor, self._book, communicates=has_links, where=backend.where, evidence=evidence)
        self.view.on_compare(self._on_compare)
        super().__init__([self._panel, self._cards, self._progress, self._message, self.view, self._tabs])
        self.add_class("hv-explorer")
        self._editor.show(self._knobs.settings)
        self._tabs.show_plan(self.plan)
        self._evidence.show(self._knobs, self.plan)
        self._refresh()

    @property
    def plan(self) -> Plan:
        """What the knobs would compile; once real ranks have compiled it, what rank 0 of them compiled."""
        return self.view.plan

    @property
    def knobs(self) -> Knobs:
        """Where the knobs stand. Assigning turns them."""
        return self._knobs

    @knobs.setter
    def knobs(self, knobs: Knobs) -> None:
        self._backend.check_settings(knobs.settings)
        self._turn(knobs)

    @property
    def mode(self) -> str:
        """The mode that is planned, one of ``hyperviz.snapshot.MODES``. Assigning turns the knob."""
        return self._knobs.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self.knobs = self._knobs.replace(mode=mode)

    @property
    def settings(self) -> Mapping[str, object]:
        """Compiler setting → value, for those that were changed. Assigning replaces all of them."""
        return self._knobs.settings

    @settings.setter
    def settings(self, settings: Mapping[str, object]) -> None:
        self.knobs = self._knobs.replace(settings=settings)

    @property
    def report(self) -> CompileReport | None:
        """How the last compile went; None before the first."""
        return self._outcome and self._outcome.report

    @property
    def equality(self) -> Equality | None:
        """How the compiled outputs relate to the eager ones; None until they were compared."""
        return self._outcome and self._outcome.equality

    @property
    def timings(self) -> Timings | None:
        """How long eager and compiled take; None until they were timed."""
        return self._outcome and self._outcome.timings

    @property
    def ranks(self) -> RankReports | None:
        """What every rank found; None until real ranks have run."""
        return self._outcome and self._outcome.ranks

    @property
    def stale(self) -> bool:
        """Whether report, equality and timings belong to other knobs than the present ones."""
        return self._outcome is not None and self._outcome.knobs != self._knobs

    @property
    def busy(self) -> bool:
        """Whether a compile, a comparison or a benchmark is running."""
        return self._worker.busy

    def compile(self) -> bool:
        """Starts to compile, compare and time what is planned, as the button does; False where a compile is running already."""
        knobs, plan = self._knobs, self.plan
        if not self._worker.start(lambda should_stop: self._work(knobs, plan, should_stop)):
            self._say("A compile is running: wait for it, or press Stop first." if self.busy else "This explorer was closed.")
            return False
        return True

    def stop(self) -> None:
        """Asks a running compile to stop before its next region."""
        if self.busy:
            self._worker.stop()
            self._panel.show_busy(True, stopping=True)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until nothing runs; False where something still does after ``timeout_s`` seconds."""
        return self._worker.wait(timeout_s)

    def close(self) -> None:
        """Stops the worker and takes the explorer off the page."""
        self._worker.close()
        self._evidence.close()
        self._progress.end()
        self.view.still.close()
        self.view.close()
        super().close()

    def _ipython_display_(self, **_: Any) -> None:
        self.view.still.show(self.plan, self._caption(), self)

    def _on_compile(self) -> None:
        self.compile()

    def _on_compare(self, first: str, second: str) -> None:
        """Two nodes were chosen in the graph: the tab that says why they are not one region comes to the front."""
        self._tabs.bring("Why two?")
        self._evidence.apart.ask(first, second)

    def _on_turn(self) -> None:
        self._turn(self._panel.read(self._knobs))

    def _turn(self, knobs: Knobs) -> None:
        """Plans for the new knobs and recolours; where that fails the knobs go back, and the reason is shown."""
        with self._changing:
            if knobs == self._knobs:
                return
            before, old = self._knobs, self.plan
            self._knobs = knobs
            try:
                with self._shown_if_slow("planning"):
                    self.view.plan = self._planned(knobs)
            except Exception as error:  # anything a planner raises is shown; the explorer stays as it was
                self._knobs = before
                self._fail("This cannot be planned", error)
            else:
                self._say(_effect(before, knobs, old, self.plan))
                self._book.add(f"planned {self.plan}")
                self._tabs.show_plan(self.plan)
                self._evidence.show(knobs, self.plan)
            self._panel.show(self._knobs)
            self._editor.show(self._knobs.settings)
            self._refresh()
            self.view.still.update(self.plan, self._caption())

    @contextlib.contextmanager
    def _shown_if_slow(self, what: str) -> Iterator[None]:
        """Says that something goes on, once it has taken as long as makes a person wonder; a compile that runs says so itself."""
        if self.busy:
            yield
            return
        saying = threading.Timer(SLOW_S, self._progress.begin, (what,))
        saying.start()
        try:
            yield
        finally:
            saying.cancel()
            saying.join()
            self._progress.end()

    def _planned(self, knobs: Knobs) -> Plan:
        """What real ranks have compiled under these knobs, if they have; else what would be compiled."""
        outcome = self._outcome
        return outcome.plan if outcome and outcome.ranks and outcome.knobs == knobs else self._backend.plan(knobs)

    def _work(self, knobs: Knobs, plan: Plan, should_stop: Callable[[], bool]) -> None:
        """The worker's job: compile, compare, time; each result is shown as soon as it is there."""
        self._panel.show_busy(True)
        self._say("")
        try:
            self._compile(knobs, plan, should_stop)
        except Stopped:
            self._say("Stopped. What was compiled before stays as it was.", log=True)
        except Exception as error:  # a thread has nobody to raise to: what went wrong in here is shown too
            self._fail("The explorer failed", error)
        finally:
            self._progress.end()
            self.view.still.update(self.plan, self._caption())
            self._panel.show_busy(False)

    def _compile(self, knobs: Knobs, plan: Plan, should_stop: Callable[[], bool]) -> None:
        before = self._outcome
        where = self._backend.where
        what = f"Running {where}" if where else "Compiling"
        report = self._step(what, lambda: self._backend.compile(knobs, self._progress.show, should_stop))
        if report is None:
            return
        ranks = self._backend.ranks()
        outcome = Outcome(knobs, ranks.plan if ranks else plan, report, ranks=ranks)
        self._settle(outcome, f"compiled {count(len(report.regions), 'region')} in {seconds(report.seconds)} ({knobs})")
        if outcome.plan.graph.caveat:
            self._say(f"Compiled. There is nothing to compare or to time: {plan.graph.caveat}.", log=True)
            return
        for name, what, ask in (("equality", "Comparing", self._backend.compare), ("timings", "Timing", self._backend.benchmark)):
            if should_stop():
                raise Stopped
            result = self._step(what, ask)
            if result is None:
                return
            outcome = dataclasses.replace(outcome, **{name: result})
            self._settle(outcome, f"{what.lower()} is done: {result if name == 'equality' else speedup(outcome.timings)}")
        self._say(effect_of_settings(before, outcome), log=True)

    def _step(self, what: str, ask: Callable[[], _Result]) -> _Result | None:
        """One part of the job; where it fails the reason is shown, and there is no result."""
        self._progress.begin(what.lower())
        try:
            return ask()
        except Stopped:
            raise
        except Exception as error:  # whatever it is, it is shown where the person is looking
            self._fail(f"{what} failed", error)
            return None

    def _settle(self, outcome: Outcome, words: str) -> None:
        with self._changing:
            self._outcome = outcome
            self._book.add(words)
            if outcome.ranks and outcome.knobs == self._knobs and self.plan is not outcome.plan:
                self.view.plan = outcome.plan
                self._tabs.show_plan(outcome.plan)
            self._tabs.show_outcome(outcome)
            self._refresh()

    def _refresh(self) -> None:
        """Shows what is stale, in the cards and on the tabs."""
        self._cards.value = cards(self.plan, self._outcome, self.stale, self._backend.where)
        words = (
            f"This belongs to an earlier compile: {self._outcome.knobs}. Press Compile to renew it." if self._outcome and self.stale else ""
        )
        self._tabs.show_stale(words)

    def _say(self, words: str, log: bool = False) -> None:
        self._message.value = tag("p", words, kind="hv-message hv-note", role="status") if words else ""
        if words and log:
            self._book.add(words)

    def _fail(self, what: str, error: Exception) -> None:
        words = str(error) or type(error).__name__
        first, _, rest = words.partition("\n\n")  # as a rank's traceback follows what it raised
        detail = tag("span", text(first if len(first) < 900 else first[:900] + "… (the whole text is in the log)", 1000))
        where = tag("details", tag("summary", "where"), tag("pre", text(rest, 4000))) if rest else ""
        self._message.value = tag("div", tag("b", f"{what}. "), detail, where, kind="hv-message hv-error", role="alert")
        self._book.add(f"{what}: {type(error).__name__}: {words}", error)

    def _caption(self) -> str:
        words = [str(self.plan)]
        if self.equality and not self.stale:
            words.append(VERDICT_WORDS.get(self.equality.verdict, ("", self.equality.verdict, ""))[1])
        return " · ".join(words)


def _effect(before: Knobs, after: Knobs, old: Plan, new: Plan) -> str:
    """One sentence where a turned knob changed less than a person may expect."""
    if before.settings != after.settings:
        return effect_on_plan(old, new)
    return "No effect: the regions stay as they are." if same_regions(old, new) else ""
