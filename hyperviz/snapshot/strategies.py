"""What each choice of regions costs, before one is made: how many, how much to compile, time that stands still, memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hyperviz.snapshot.columns import aligned, counted, peak_words, size_words, time_words


@dataclass(frozen=True, slots=True)
class StrategyCost:
    """What one strategy makes of a graph; nothing was compiled. What is not known is None.

    Attributes:
        strategy: one of ``STRATEGIES``.
        num_regions: how many regions it makes; None where it was not asked.
        num_distinct: how many of them are compiled, structurally equal ones once.
        step_ms: estimated time of a step.
        exposed_ms: of it, how long compute stands still for communication.
        hidden_ms: communication during which compute runs, summed over collectives.
        peak_bytes: the most memory that the step holds, inputs not counted.
        least_peak_bytes: a lower bound of it; see ``Step.least_bytes``.
        num_windows: collectives with compute between launch and wait in the graph.
        num_kept: of these, those that keep all of it there.
        note: why it was not asked, or what else to know; ``""`` for nothing.
    """

    strategy: str
    num_regions: int | None = None
    num_distinct: int | None = None
    step_ms: float | None = None
    exposed_ms: float | None = None
    hidden_ms: float | None = None
    peak_bytes: int | None = None
    least_peak_bytes: int | None = None
    num_windows: int | None = None
    num_kept: int | None = None
    note: str = ""

    @property
    def windows(self) -> str:
        """How many windows are kept, in words; ``""`` where there is none."""
        return f"{self.num_kept} of {self.num_windows}" if self.num_windows else ""

    def __str__(self) -> str:
        if self.num_regions is None:
            return self.note or "unknown"
        words = [counted(self.num_regions, "region")]
        if self.num_regions:
            words.append(f"{'?' if self.num_distinct is None else self.num_distinct} distinct")
        words += [f"{time_words(self.exposed_ms)} exposed"] if self.num_windows else []
        up_to = "" if self.peak_bytes is None or self.peak_bytes == self.least_peak_bytes else "up to "
        return ", ".join([*words, f"peak {up_to}{size_words(self.peak_bytes)}"])


@dataclass(frozen=True, slots=True)
class StrategyCosts:
    """What every strategy costs.

    Attributes:
        costs: one for each of ``STRATEGIES``, in that order.
        label: whose figures the estimates go by.
    """

    costs: tuple[StrategyCost, ...]
    label: str

    def __iter__(self) -> Iterator[StrategyCost]:
        return iter(self.costs)

    def __getitem__(self, strategy: str) -> StrategyCost:
        """The cost of the strategy with that name; ``KeyError`` where there is none."""
        found = {cost.strategy: cost for cost in self.costs}
        return found[strategy]

    def __str__(self) -> str:
        rows = [cost_row(cost) for cost in self.costs]
        notes = [f"{cost.strategy}: {cost.note}" for cost in self.costs if cost.note]
        return "\n".join([*aligned([COST_HEADINGS, *rows]), *notes, self.label])


COST_HEADINGS = ("strategy", "regions", "distinct", "step", "exposed", "hidden", "memory peak", "windows kept")


def cost_row(cost: StrategyCost) -> tuple[str, ...]:
    """A cost as words, one for each of ``COST_HEADINGS``; dashes where it was not asked."""
    if cost.num_regions is None:
        return (cost.strategy, *["—"] * (len(COST_HEADINGS) - 1))
    distinct = "unknown" if cost.num_distinct is None else f"{cost.num_distinct:,}"
    times = map(time_words, (cost.step_ms, cost.exposed_ms, cost.hidden_ms))
    peak = peak_words(cost.peak_bytes, cost.least_peak_bytes)
    return cost.strategy, f"{cost.num_regions:,}", distinct, *times, peak, cost.windows or "none to keep"
