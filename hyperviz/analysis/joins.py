"""Joining consecutive runs into regions, from left to right, as far as order and hidden time allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from torch import fx

from hyperviz.graph.kinds import is_call, is_random, is_wait

_ROUNDING_MS = 1e-9


@dataclass(frozen=True, slots=True)
class Flight:
    """A collective under way, on the timeline of runs.

    Attributes:
        launch: its launch.
        wait: the first wait.
        duration_ms: how long it takes.
        slack_ms: how much compute could leave its window before it is exposed for longer.
    """

    launch: fx.Node
    wait: fx.Node
    duration_ms: float
    slack_ms: float


@dataclass(slots=True)
class Unit:
    """A run, or one eager call: what moves as a whole.

    Attributes:
        nodes: in order.
        is_run: whether it is compiled.
        before: numbers of the units that it must stay behind.
        time_ms: how long its compute takes.
        moved_bytes: by how much more is alive beside a region that it stood within: what it frees, or allocates for a launch.
    """

    nodes: list[fx.Node]
    is_run: bool
    before: set[int] = field(default_factory=set)
    time_ms: float = 0.0
    moved_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Join:
    """Consecutive runs that are one region, and the eager calls that stood between them.

    Attributes:
        runs: numbers of the runs, in order.
        ahead: numbers of the eager units that go ahead of the region, in order.
        behind: of those that go behind it, in order.
        cost_ms: number of a flight → compute that leaves its window here.
        moved_bytes: the sum of what its eager units move.
    """

    runs: tuple[int, ...]
    ahead: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    cost_ms: Mapping[int, float] = field(default_factory=dict)
    moved_bytes: float = 0.0


def units_of(order: Iterable[fx.Node], groups: Sequence[Sequence[fx.Node]], before: Callable[[fx.Node], Iterable[fx.Node]]) -> list[Unit]:
    """Runs and eager calls in the order in which they stand.

    Args:
        order: every node.
        groups: the members of each run.
        before: node → the nodes that it must stay behind, by data, memory and effects.
    """
    group_of = {node: index for index, group in enumerate(groups) for node in group}
    units: list[Unit] = []
    number_of_group: dict[int, int] = {}
    number_of: dict[fx.Node, int] = {}
    for node in filter(is_call, order):
        group = group_of.get(node)
        if group is None or group not in number_of_group:
            units.append(Unit([], group is not None))
        number = len(units) - 1 if group is None else number_of_group.setdefault(group, len(units) - 1)
        units[number].nodes.append(node)
        number_of[node] = number
    last_draw: set[int] = set()
    for number, unit in enumerate(units):
        unit.before = {number_of[other] for node in unit.nodes for other in before(node) if other in number_of}
        if any(map(is_random, unit.nodes)):  # one generator: who draws first gets the first numbers
            unit.before |= last_draw
            last_draw = {number}
        unit.before.discard(number)
    return units


def join_runs(units: Sequence[Unit], flights: Sequence[Flight], hidden: float, apart: frozenset[int] = frozenset()) -> list[Join]:
    """Join runs from left to right, as far as it goes.

    Args:
        units: in order.
        flights: the collectives; one of which no duration is known is left out, with its launch or wait in ``apart``.
        hidden: share of its duration that a collective may lose beyond its slack.
        apart: numbers of runs that must begin a region.
    """
    joiner = _Joiner(units, [0.0, *accumulate(unit.time_ms for unit in units)], flights, hidden)
    joins: list[Join] = []
    between: list[int] = []
    for number, unit in enumerate(units):
        if not unit.is_run:
            between.append(number)
            continue
        longer = joiner.longer(joins[-1], between, number) if joins and number not in apart else None
        if longer is None:
            joiner.pay(joins[-1:])
            joins.append(Join((number,)))
        else:
            joins[-1] = longer
        between = []
    return joins


def order_of(units: Sequence[Unit], joins: Sequence[Join]) -> tuple[list[fx.Node], list[list[fx.Node]]]:
    """The calls in their new order, and the members of each region."""
    join_of = {number: join for join in joins for number in (*join.runs, *join.ahead, *join.behind)}
    order: list[fx.Node] = []
    for number, unit in enumerate(units):
        join = join_of.get(number)
        if join is None:
            order += unit.nodes
        elif number == join.runs[0]:  # all others stood behind it
            order += [node for other in (*join.ahead, *join.runs, *join.behind) for node in units[other].nodes]
    return order, [[node for run in join.runs for node in units[run].nodes] for join in joins]


@dataclass(slots=True)
class _Joiner:
    """Tells what a longer join would be, and keeps account of what every collective has lost."""

    units: Sequence[Unit]
    elapsed_ms: Sequence[float]  # of compute before each unit
    flights: Sequence[Flight]
    hidden: float
    lost_ms: dict[int, float] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)  # unit → the flight that it launches
    ends: dict[int, int] = field(default_factory=dict)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # flight → units of launch and wait

    def __post_init__(self) -> None:
        number_of = {node: number for number, unit in enumerate(self.units) for node in unit.nodes}
        for index, flight in enumerate(self.flights):
            self.spans[index] = span = number_of[flight.launch], number_of[flight.wait]
            self.starts[span[0]] = self.ends[span[1]] = index

    def longer(self, join: Join, between: Sequence[int], run: int) -> Join | None:
        """The join with one run more; None where an order would break, or a collective cannot pay."""
        loose = sorted((*join.behind, *between))
        held, forced = set(join.runs), set()
        for number in loose:
            if not self.units[number].before.isdisjoint(held) or not self.units[number].before.isdisjoint(forced):
                forced.add(number)
        if not self.units[run].before.isdisjoint(forced):
            return None
        needed = set(self.units[run].before)
        for number in reversed(loose):  # what is needed ahead of the region is ahead of what needs it as well
            if number in needed or (number not in forced and not self._may_wait(number)):
                needed |= {number, *self.units[number].before}
        runs = (*join.runs, run)
        sides = (*join.ahead, *filter(needed.__contains__, loose)), tuple(number for number in loose if number not in needed)
        moved = join.moved_bytes + sum(self.units[number].moved_bytes for number in between)
        longer = Join(runs, *sides, self._cost_ms(runs, *sides), moved)
        return longer if self._is_affordable(longer) else None

    def pay(self, joins: Iterable[Join]) -> None:
        """Book what finished joins cost."""
        for join in joins:
            for index, lost in join.cost_ms.items():
                self.lost_ms[index] = self.lost_ms.get(index, 0.0) + lost

    def _may_wait(self, number: int) -> bool:
        """Whether a unit that may stand on either side is better behind: a wait is, a launch or a free is not."""
        return any(map(is_wait, self.units[number].nodes))

    def _cost_ms(self, runs: Sequence[int], ahead: Iterable[int], behind: Iterable[int]) -> dict[int, float]:
        """Flight → compute that leaves its window: of a wait that goes ahead what ran before it, of a launch that goes behind the rest."""
        cost: dict[int, float] = {}
        first, last = runs[0], runs[-1] + 1
        for number in ahead:
            if (index := self.ends.get(number)) is not None:
                launched = max(first, self.spans[index][0])
                cost[index] = cost.get(index, 0.0) + self.elapsed_ms[number] - self.elapsed_ms[launched]
        for number in behind:
            if (index := self.starts.get(number)) is not None:
                waited = min(last, self.spans[index][1])
                cost[index] = cost.get(index, 0.0) + self.elapsed_ms[waited] - self.elapsed_ms[number]
        return cost

    def _is_affordable(self, join: Join) -> bool:
        for index, cost in join.cost_ms.items():
            flight = self.flights[index]
            if self.lost_ms.get(index, 0.0) + cost > flight.slack_ms + self.hidden * flight.duration_ms + _ROUNDING_MS:
                return False
        return True
