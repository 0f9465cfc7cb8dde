"""What the explorer can tell before anyone compiles: the cost of each strategy, the step in time, why two regions are not one."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hyperviz.snapshot import Plan
from hyperviz.widgets.apart_tab import ApartTab
from hyperviz.widgets.backend import Backend, Knobs
from hyperviz.widgets.background import Background
from hyperviz.widgets.graph_view import GraphView
from hyperviz.widgets.strategies_tab import Costs, StrategiesTab
from hyperviz.widgets.timeline_tab import TimelineTab


class Evidence:
    """Three tabs that follow the knobs, and the thread that fills them.

    Args:
        backend: estimates and explains.
        view: the graph.
        on_costs: told what strategies cost, as it becomes known, and whether that belongs to earlier knobs.

    Attributes:
        strategies: what each strategy costs.
        timeline: the step in time.
        apart: why two regions are not one.
    """

    def __init__(self, backend: Backend, view: GraphView, on_costs: Callable[[Costs, bool], None]) -> None:
        self._background = Background()
        self.strategies = StrategiesTab(backend, self._background, on_costs)
        self.timeline = TimelineTab(backend, self._background, view)
        self.apart = ApartTab(backend, self._background, view)

    @property
    def tabs(self) -> dict[str, widgets.Widget]:
        """Title → tab."""
        return {"Strategies": self.strategies, "Timeline": self.timeline, "Why two?": self.apart}

    def show(self, knobs: Knobs, plan: Plan) -> None:
        """Follows the knobs."""
        self.strategies.show(knobs)
        self.timeline.show(knobs)
        self.apart.show(knobs, plan)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until nothing is left to answer."""
        return self._background.wait(timeout_s)

    def close(self) -> None:
        """Ends the thread as soon as it has answered what it is at."""
        self._background.close()
