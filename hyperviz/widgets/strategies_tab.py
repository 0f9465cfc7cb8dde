"""What each region strategy costs, beside its name and as a table, before one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ipywidgets as widgets

from hyperviz.snapshot import COST_HEADINGS, STRATEGIES, StrategyCost, cost_row
from hyperviz.widgets.backend import Backend, Knobs
from hyperviz.widgets.background import Background
from hyperviz.widgets.markup import Html, table, tag

_WORDS = (
    "Regions that are equal in structure are compiled once: distinct is what has to be compiled. Exposed is how long compute stands "
    "still for communication. A window is kept where all compute between a launch and its wait stays there."
)
Costs = Mapping[str, StrategyCost]


class StrategiesTab(widgets.VBox):
    """Asks for the cost of every strategy once regional mode is on, and shows each as it arrives.

    Args:
        backend: estimates.
        background: where it does.
        on_costs: told what is known, and whether that belongs to earlier knobs.
    """

    def __init__(self, backend: Backend, background: Background, on_costs: Callable[[Costs, bool], None]) -> None:
        self._backend, self._background, self._on_costs = backend, background, on_costs
        self._known: dict[str, Costs] = {}
        self._key, self._shown, self._knobs = "", {}, Knobs()
        self._table = widgets.HTML()
        super().__init__([self._table])
        self.add_class("hv-tab")
        self._show()

    @property
    def costs(self) -> Costs:
        """Strategy → its cost, as far as they are known for the present knobs."""
        return self._known.get(self._key, {})

    def show(self, knobs: Knobs) -> None:
        """Follows the knobs; what was asked once for them is not asked again."""
        self._knobs = knobs
        key = repr(sorted(knobs.settings.items()))
        if knobs.mode == "regional" and key not in self._known:
            self._known[key] = {}
            for strategy in STRATEGIES:
                self._background.ask(f"cost of {strategy}", lambda strategy=strategy: self._ask(knobs, strategy, key))
        self._key = key
        self._show()

    def _ask(self, knobs: Knobs, strategy: str, key: str) -> None:
        try:
            cost = self._backend.strategy_cost(knobs, strategy)
        except Exception as error:  # whatever it is, it stands where the cost would
            cost = StrategyCost(strategy, note=f"its cost cannot be told: {error}")
        self._known[key] = {**self._known[key], strategy: cost}
        self._show()

    def _show(self) -> None:
        present = self.costs
        stale = not present and bool(self._shown)
        if present:
            self._shown = present
        self._table.value = _table(self._shown, self._knobs, stale, self._backend.costs_label)
        self._on_costs(self._shown, stale)


def _table(costs: Costs, knobs: Knobs, stale: bool, label: str) -> Html:
    if not costs and knobs.mode != "regional":
        return tag("p", "Turn the mode to regional to see what each choice of regions would cost.", kind="hv-hint")
    rows = [_row(costs.get(strategy), strategy, strategy == knobs.strategy and knobs.mode == "regional") for strategy in STRATEGIES]
    old = tag("p", "Of earlier settings: what the present ones cost is being estimated.", kind="hv-stale-note") if stale else Html("")
    lines = table((*map(str.capitalize, COST_HEADINGS), "Note"), rows, "What each choice of regions would cost", numeric=range(1, 7))
    return tag("div", old, lines, tag("p", f"{label[:1].upper()}{label[1:]}. {_WORDS}", kind="hv-hint"))


def _row(cost: StrategyCost | None, strategy: str, chosen: bool) -> tuple[object, ...]:
    name = tag("b", f"▶ {strategy} (chosen)") if chosen else strategy
    if cost is None:
        return (name, *["…"] * (len(COST_HEADINGS) - 1), "being estimated")
    return (name, *cost_row(cost)[1:], cost.note)


def option(strategy: str, costs: Costs, stale: bool) -> str:
    """A strategy with its cost, as a menu shows it."""
    if strategy not in costs:
        return strategy
    return f"{strategy} — {costs[strategy]}{' (of earlier settings)' if stale else ''}"
