"""The row of knobs: mode, region strategy, Compile and Stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from hyperviz.snapshot import MODES, STRATEGIES
from hyperviz.widgets.backend import Knobs
from hyperviz.widgets.markup import tag
from hyperviz.widgets.strategies_tab import Costs, option

MODE_TIPS = ("Nothing is compiled", "Compute is compiled in regions; communication and side effects stay eager", "Everything in one region")
_COMPILE = "Compile, compare and time what is planned"
_NAMES = tuple((strategy, strategy) for strategy in STRATEGIES)


class KnobPanel(widgets.HBox):
    """Turns clicks into calls; it holds no state of its own beyond what its buttons show.

    Args:
        knobs: where the buttons stand at first.
        on_turn: called when a person turned one.
        on_compile: called when Compile was pressed.
        on_stop: called when Stop was pressed.
        where: the real ranks that compile, in words; empty where this process does.
    """

    def __init__(
        self, knobs: Knobs, on_turn: Callable[[], None], on_compile: Callable[[], None], on_stop: Callable[[], None], *, where: str = ""
    ) -> None:
        self._mode = widgets.ToggleButtons(options=MODES, value=knobs.mode, tooltips=MODE_TIPS)
        self._strategy = widgets.Dropdown(options=_NAMES, value=knobs.strategy, tooltip="How compute is grouped into regions")
        self._compile = widgets.Button(description="Compile", button_style="primary", tooltip=_COMPILE + (f", on {where}" if where else ""))
        self._stop = widgets.Button(description="Stop", disabled=True, tooltip="End the ranks" if where else "Stop before the next region")
        self._on_turn, self._showing = on_turn, False
        self._mode.observe(self._turned, "value")
        self._strategy.observe(self._turned, "value")
        self._compile.on_click(lambda _: on_compile())
        self._stop.on_click(lambda _: on_stop())
        super().__init__([_named("Mode", self._mode), _named("Regions", self._strategy), self._compile, self._stop])
        self.add_class("hv-knobs")
        self._compile.add_class("hv-compile")
        self._stop.add_class("hv-stop")
        self.show(knobs)

    def read(self, knobs: Knobs) -> Knobs:
        """``knobs`` with what the buttons say."""
        return knobs.replace(mode=self._mode.value, strategy=self._strategy.value)

    def show(self, knobs: Knobs) -> None:
        """Sets the buttons, without telling anyone."""
        self._showing = True
        self._mode.value, self._strategy.value = knobs.mode, knobs.strategy
        self._strategy.disabled = knobs.mode != "regional"
        self._showing = False

    def show_costs(self, costs: Costs, stale: bool) -> None:
        """Writes what each strategy costs behind its name, as far as it is known; what is chosen stays chosen."""
        options = tuple((option(strategy, costs, stale), strategy) for strategy in STRATEGIES)
        if options == tuple(self._strategy.options):
            return
        self._showing, chosen = True, self._strategy.value
        with self._strategy.hold_sync():
            self._strategy.options = options
            self._strategy.value = chosen
        self._showing = False

    def show_busy(self, busy: bool, stopping: bool = False) -> None:
        """Compile stays clickable while it runs: a click is answered in words, and the keyboard's focus is not lost."""
        self._compile.description = "Compiling…" if busy else "Compile"
        self._stop.disabled = not busy or stopping
        self._stop.description = "Stopping…" if busy and stopping else "Stop"

    def _turned(self, _: Any) -> None:
        if not self._showing:
            self._on_turn()


def _named(name: str, widget: widgets.Widget) -> widgets.HBox:
    return widgets.HBox([widgets.HTML(tag("span", name, kind="hv-label")), widget]).add_class("hv-knob")
