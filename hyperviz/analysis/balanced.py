"""Fewer regions than runs, at a stated price in hidden time and memory: consecutive runs become one where that costs little enough.

The problem. Runs R0, E1, R1, E2, … follow each other, with the eager calls E between them: launches, waits, frees and other effects. A
choice of regions joins consecutive runs; of the eager calls between two joined runs, those that need a result of the region go behind
it, those that the region needs go ahead of it, and nothing may be in both places. Wanted are the fewest regions such that

- every order of data, memory and effects holds (``Hazards``);
- no collective loses more of its hidden time than ``Limits.hidden`` of its own duration, on a timeline estimated for ``Limits.hardware``
  on which a region takes as long as its runs did: that fused compute is shorter, and so hides less, is no fault of the order;
- the peak of live bytes grows by no more than ``Limits.peak`` of that under runs.

The method. Whether a join is allowed depends on the runs between its ends, and what is allowed for a long join is allowed for each part
of it; so going from left to right and joining as far as it goes gives the fewest intervals (interval partition by the earliest end; see
Kleinberg and Tardos, "Algorithm Design", 2006, section 4.1). Two things keep that from being exact, and make it a heuristic: a
collective that is launched in one region and waited for in another pays for both, and timeline and peak answer to all joins together.
So what a join costs is counted from the collective's slack under runs, the whole is judged at the end, memory only then, and joins that
turn out dearer are cut in two until the limits hold. Near linear in the number of nodes, but for the few times that the whole is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from torch import fx

from hyperviz.analysis.estimate import collective_ms, step_ms
from hyperviz.analysis.hardware import Hardware, hardware_named
from hyperviz.analysis.hazards import Hazards, hazards_of
from hyperviz.analysis.joins import Flight, Join, Unit, join_runs, order_of, units_of
from hyperviz.analysis.regions import Regions
from hyperviz.analysis.schedule import schedule_of
from hyperviz.analysis.timeline import lay_out
from hyperviz.graph.kinds import is_call, is_free, is_work
from hyperviz.snapshot import Schedule, Timeline

_ROUNDING_MS = 1e-6


@dataclass(frozen=True, slots=True)
class Limits:
    """What fewer regions may cost.

    Attributes:
        hidden: share of its duration that a collective may lose in hidden time, at equal compute times; at least 0.
        peak: share by which the peak of live bytes may grow; at least 0.
        hardware: that the timeline is estimated for: a name, or the figures.
    """

    hidden: float = 0.0
    peak: float = 0.1
    hardware: str | Hardware = "h100"


def balance(runs: Regions, graph_module: fx.GraphModule, limits: Limits) -> Regions:
    """Fewer regions than runs, within limits; see above.

    Regions in which nothing could be fused, views or a single operator with them, are left to eager, where a call costs less.

    Args:
        runs: the regions of the graph under strategy ``"runs"``.
        graph_module: the graph; only read.
        limits: what it may cost.

    Raises:
        ValueError: the hardware has no figures.
    """
    title = figures_of(limits).title
    limit = f"a collective loses at most {limits.hidden:.0%} of its time as hidden time, and the peak grows by at most {limits.peak:.0%}"
    note = f"balanced: at equal compute times, estimated for {title}, {limit}"
    return _without_trifles(replace(rejoin(runs, graph_module, limits), notes=[*runs.notes, note]))


def rejoin(runs: Regions, graph_module: fx.GraphModule, limits: Limits) -> Regions:
    """Runs joined within limits, those with nothing to fuse too."""
    before = Judged.of(runs, graph_module, figures_of(limits))
    units, flights = before.units(), before.flights()
    apart = before.blind(units, flights)
    ceiling = float("inf") if before.peak_bytes is None else before.peak_bytes * (1 + limits.peak)
    while True:
        joins = join_runs(units, flights, limits.hidden, frozenset(apart))
        after = before.joined(joins, units)
        dear = [join for join in _too_dear(before, after, joins, units, flights, limits.hidden, ceiling) if len(join.runs) > 1]
        if not dear:
            return after.regions
        apart |= {join.runs[len(join.runs) // 2] for join in dear}


@dataclass(slots=True)
class Judged:
    """Regions with their schedule and their timeline.

    Attributes:
        regions: that are judged.
        graph_module: the graph.
        hardware: that the timeline is estimated for.
        schedule: what runs when.
        timeline: how long it takes.
        hazards: the orders that must hold.
    """

    regions: Regions
    graph_module: fx.GraphModule
    hardware: Hardware
    schedule: Schedule
    timeline: Timeline
    hazards: Hazards

    @classmethod
    def of(cls, regions: Regions, graph_module: fx.GraphModule, hardware: Hardware) -> Judged:
        """Judge the runs of a graph."""
        return cls(regions, graph_module, hardware, *_timed(regions, graph_module, hardware, {}), hazards_of(graph_module.graph))

    def joined(self, joins: Sequence[Join], units: Sequence[Unit]) -> Judged:
        """Judge joins of these runs. A region takes as long as its runs do: fusing more shortens compute, which is no loss of hiding."""
        regions = _placed(self.regions, *order_of(units, joins))
        times = {f"region_{index}": sum(units[run].time_ms for run in join.runs) for index, join in enumerate(joins)}
        timed = _timed(regions, self.graph_module, self.hardware, times)
        return replace(self, regions=regions, schedule=timed[0], timeline=timed[1])

    @property
    def peak_bytes(self) -> int | None:
        """The peak of live bytes; None where one is not known."""
        return self.schedule.peak_bytes

    @property
    def hidden_ms(self) -> dict[str, float | None]:
        """Launch → how much of it compute covers."""
        return {one.launch: one.hidden_ms for one in self.timeline.collectives}

    def units(self) -> list[Unit]:
        """Runs and eager calls, with their times and the memory at them."""
        units = units_of(self.regions.order, self.regions.groups, self.hazards.predecessors)
        steps = {step.name: step for step in self.schedule.steps}
        spans = {span.node: span.duration_ms or 0.0 for span in self.timeline.spans if span.kind == "compute"}
        number = 0
        for unit in units:
            name = f"region_{number}" if unit.is_run else unit.nodes[0].name
            number += unit.is_run
            unit.time_ms = spans.get(name, 0.0)
            if not unit.is_run:
                unit.moved_bytes = float((steps[name].bytes_in if is_free(unit.nodes[0]) else steps[name].bytes_out) or 0)
        return units

    def flights(self) -> list[Flight]:
        """Every collective of which it is known when it ends."""
        by_name = {node.name: node for node in self.graph_module.graph.nodes}
        waits = {one.launch: one.waits[0] for one in self.schedule.collectives if one.waits}
        ends = {span.node: span.end_ms for span in self.timeline.spans if span.kind == "communication"}
        reached = {point.node: point.at_ms for point in self.timeline.memory}
        return [
            Flight(by_name[one.launch], by_name[wait], one.duration_ms, max(0.0, reached[wait] - end))
            for one in self.timeline.collectives
            if (wait := waits.get(one.launch)) and one.duration_ms is not None and (end := ends[one.launch]) is not None
        ]

    def blind(self, units: Sequence[Unit], flights: Iterable[Flight]) -> set[int]:
        """Runs that must begin a region, as a collective of unknown duration is launched or waited for just ahead of them."""
        known = {node for flight in flights for node in (flight.launch, flight.wait)}
        ends = {name for one in self.schedule.collectives for name in (one.launch, *one.waits[:1])}
        found: set[int] = set()
        unknown = False
        for number, unit in enumerate(units):
            unknown = unknown or any(node.name in ends and node not in known for node in unit.nodes)
            if unit.is_run:
                found |= {number} if unknown else set()
                unknown = False
        return found


def figures_of(limits: Limits) -> Hardware:
    """The figures that limits go by."""
    return limits.hardware if isinstance(limits.hardware, Hardware) else hardware_named(limits.hardware)


def _timed(regions: Regions, graph_module: fx.GraphModule, hardware: Hardware, times_ms: Mapping[str, float]) -> tuple[Schedule, Timeline]:
    schedule = schedule_of(graph_module, regions)
    timeline = lay_out(schedule, lambda step: times_ms.get(step.name, step_ms(step, hardware)), lambda one: collective_ms(one, hardware))
    return schedule, timeline("", "")


def _placed(regions: Regions, order: Sequence[fx.Node], groups: list[list[fx.Node]]) -> Regions:
    """The same placements around other regions; constants come first, and graphs that operators call stay with their callers."""
    calls = set(order)
    constants = [node for node in regions.order if node not in calls and node.op != "output"]
    member_of = {node: group for group in groups for node in group}
    for node in (node for group in regions.groups for node in group if not is_call(node)):
        next(member_of[user] for user in node.users if user in member_of).insert(0, node)
    return replace(regions, order=[*constants, *order, *(node for node in regions.order if node.op == "output")], groups=groups)


def _too_dear(
    before: Judged,
    after: Judged,
    joins: Sequence[Join],
    units: Sequence[Unit],
    flights: Sequence[Flight],
    hidden: float,
    ceiling: float,
) -> Iterator[Join]:
    """The joins that break a limit, as far as can be told."""
    place = {node: number for number, unit in enumerate(units) for node in unit.nodes}
    was, now = before.hidden_ms, after.hidden_ms
    for index, flight in enumerate(flights):
        lost = (was[flight.launch.name] or 0.0) - (now[flight.launch.name] or 0.0)
        if lost > hidden * flight.duration_ms + _ROUNDING_MS:
            movers = [join for join in joins if index in join.cost_ms]
            # Nothing of its own was moved: what stood in its queue before it was, and the join before its wait is the likeliest cause.
            yield from movers or [join for join in joins if len(join.runs) > 1 and join.runs[0] <= place[flight.wait]][-1:]
    if after.peak_bytes is not None and after.peak_bytes > ceiling:
        step = after.schedule.peak_step
        fullest = [joins[int(step.removeprefix("region_"))]] if step.startswith("region_") else []
        yield from [join for join in fullest if len(join.runs) > 1] or [max(joins, key=lambda join: (join.moved_bytes, len(join.runs)))]


def _without_trifles(regions: Regions) -> Regions:
    """Leave a region with nothing to fuse to eager: what a compiled call costs on top would buy nothing."""
    reasons: dict[fx.Node, str] = {}
    kept: list[list[fx.Node]] = []
    for group in regions.groups:
        work = [node for node in group if is_work(node)]
        if len(work) > 1 or not all(map(is_call, group)):
            kept.append(group)
        elif work:
            reasons.update(dict.fromkeys(group, f"nothing to fuse: {work[0].name} is the only operator of its region"))
        else:
            reasons.update(dict.fromkeys(group, "nothing to compile: its region holds views only"))
    return replace(regions, groups=kept, reasons={**regions.reasons, **reasons})
