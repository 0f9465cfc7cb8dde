"""A schedule played on hardware: compute in the graph's order, each process group a queue beside it, waits between them.

What is assumed. The host is ahead of the device, so nothing waits to be launched. Compute runs one step after another. A collective
starts when the graph has come to its launch and those launched before it on its group are done; compute is not slowed down while it
runs. A wait holds compute up until its collective is done. Groups do not share links.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hyperviz.analysis.estimate import explain_collective, step_ms
from hyperviz.analysis.hardware import Hardware
from hyperviz.graph.transfers import HOST
from hyperviz.snapshot import COMPUTE, Collective, CollectiveTime, MemoryPoint, Schedule, Span, Step, Timeline


def estimate_timeline(
    schedule: Schedule, hardware: Hardware, *, title: str = "", group_ranks: Mapping[str, Sequence[int]] | None = None
) -> Timeline:
    """The timeline of a schedule on named hardware. Runs nothing.

    Args:
        schedule: what ``schedule_of`` found.
        hardware: whose figures are used.
        title: what it is a timeline of.
        group_ranks: name of a process group → its ranks in the world; of one left out it is assumed that its ranks are neighbours.

    Returns:
        A timeline whose label says that it is an estimate, and for which hardware.
    """
    ranks = group_ranks or {}
    told = {one.launch: explain_collective(one, hardware, ranks.get(one.group)) for one in schedule.collectives}
    unknown = [why for duration, why in told.values() if duration is None]
    blind = [step.name for step in schedule.steps if step_ms(step, hardware) is None]
    if blind:
        unknown.append(f"the time of {_some(blind)}: what it does is not known, or {hardware.title} has no figure for its dtype")
    timeline = lay_out(schedule, lambda step: step_ms(step, hardware), lambda one: told[one.launch][0])
    return timeline(title, f"estimated for {hardware.title}", (*_assumptions(hardware), *_told(unknown)))


def _assumptions(hardware: Hardware) -> tuple[str, ...]:
    if hardware.measured:
        return ("an estimate from rates measured on this machine",)
    return ("an estimate: work at the vendor's peak rates, collectives as rings with NCCL's latencies",)


def _told(unknown: Sequence[str]) -> Iterator[str]:
    """What is not known, each reason once, and of many the first and the last."""
    reasons = list(dict.fromkeys(unknown))
    for why in reasons if len(reasons) <= 4 else (*reasons[:2], f"{len(reasons) - 3} more of that kind", reasons[-1]):
        yield f"unknown: {why}"


def _some(names: Sequence[str]) -> str:
    return names[0] if len(set(names)) == 1 else f"{names[0]} and {len(set(names)) - 1} more"


def lay_out(
    schedule: Schedule,
    busy: Callable[[Step], float | None],
    carried: Callable[[Collective], float | None],
    stood: Mapping[str, float] | None = None,
) -> Callable[..., Timeline]:
    """Steps and collectives in time.

    Args:
        schedule: what runs.
        busy: step → how long compute is busy with it, in milliseconds; None where that is not known.
        carried: collective → how long its link is busy with it, likewise.
        stood: wait → how long compute was seen to stand still at it; without, it stands still until the collective is done.

    Returns:
        What makes the timeline, given title, label and notes.
    """
    clock = _Clock(schedule, busy, carried, stood)
    for step in schedule.steps:
        clock.run(step)
    return clock.timeline


@dataclass(slots=True)
class _Flight:
    """A collective under way; ``end`` is None where it is not known when it ends."""

    one: Collective
    step: int
    start: float
    duration: float | None
    end: float | None
    exposed: float | None = 0.0


@dataclass(slots=True)
class _Clock:
    """Where compute and the queues of the groups are in time.

    Attributes:
        now: how far compute is.
        free_at: group → when its queue is empty.
        lost: groups in whose queue something is of which it is not known when it ends.
        step: number of the step that happens.
        blind: numbers of the steps that take a time that is not known.
        standing: when compute stood still.
    """

    schedule: Schedule
    busy: Callable[[Step], float | None]
    carried: Callable[[Collective], float | None]
    stood: Mapping[str, float] | None
    now: float = 0.0
    worked: float | None = 0.0
    free_at: dict[str, float] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    step: int = 0
    blind: list[int] = field(default_factory=list)
    standing: list[tuple[float, float]] = field(default_factory=list)
    flights: dict[str, _Flight] = field(default_factory=dict)
    compute: list[Span] = field(default_factory=list)
    memory: list[MemoryPoint] = field(default_factory=list)
    launches: dict[str, Collective] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.launches = {one.launch: one for one in self.schedule.collectives}
        self.waits = {wait: one.launch for one in self.schedule.collectives for wait in one.waits}

    def run(self, step: Step) -> None:
        """Let one step happen."""
        self.step += 1
        self.memory.append(MemoryPoint(self.now, step.name, step.live_bytes, step.least_bytes))
        if step.kind == "launch" and step.name in self.launches:
            self._launch(self.launches[step.name])
        if step.kind in ("wait", "launch") and step.name in self.waits:
            self._wait(step.name, self.flights[self.waits[step.name]])
        if (duration := self.busy(step)) != 0:
            self._work(step, duration)

    def _launch(self, one: Collective) -> None:
        duration, start = self.carried(one), max(self.now, self.free_at.get(one.group, 0.0))
        end = None if duration is None or one.group in self.lost else start + duration
        self.flights[one.launch] = _Flight(one, self.step, start, duration, end)
        self.free_at[one.group] = start + (duration or 0.0)
        if duration is None:
            self.blind.append(self.step)
            self.lost.add(one.group)

    def _wait(self, name: str, flight: _Flight) -> None:
        seen = self.stood is not None
        end = self.now + self.stood.get(name, 0.0) if self.stood is not None else flight.end
        known = end is not None and (seen or not any(step >= flight.step for step in self.blind))
        if seen and end is not None and (flight.end is None or flight.end > self.now):
            flight.end = end
        if not known:
            flight.exposed = None
            self.blind.append(self.step)
            self.lost.discard(flight.one.group)
            self.free_at[flight.one.group] = self.now
        if not known or (end is not None and end > self.now):
            words = f"waits for {flight.one.launch}"
            self.compute.append(Span(COMPUTE, name, "exposed", self.now, end if known else None, words, flight.one.launch))
        if known and end is not None and end > self.now:
            flight.exposed = None if flight.exposed is None else flight.exposed + end - self.now
            self.standing.append((self.now, end))
            self.now = end

    def _work(self, step: Step, duration: float | None) -> None:
        self.worked = None if duration is None or self.worked is None else self.worked + duration
        end = None if duration is None else self.now + duration
        self.compute.append(Span(COMPUTE, step.name, "compute", self.now, end, _words(step)))
        if duration is None:
            self.blind.append(self.step)
        self.now += duration or 0.0

    def timeline(self, title: str, label: str, notes: Iterable[str] = ()) -> Timeline:
        """All of it as plain data."""
        schedule, flights = self.schedule, list(self.flights.values())
        times = tuple(self._time_of(flight) for flight in flights)
        ends = [flight.end for flight in flights]
        lanes = sorted((self._span(flight) for flight in flights), key=lambda span: (span.lane, span.start_ms))
        known = not self.blind
        return Timeline(
            title,
            label,
            (*self.compute, *lanes),
            times,
            tuple(self.memory),
            total_ms=max([self.now, *(end for end in ends if end is not None)]) if known else None,
            compute_ms=self.worked,
            exposed_ms=_sum(one.exposed_ms for one in times),
            hidden_ms=_sum(one.hidden_ms for one in times),
            peak_bytes=schedule.peak_bytes,
            least_peak_bytes=schedule.least_peak_bytes,
            peak_node=schedule.peak_step,
            at_peak=schedule.at_peak,
            input_bytes=schedule.input_bytes,
            notes=(*notes, *schedule.notes),
        )

    def _time_of(self, flight: _Flight) -> CollectiveTime:
        one, duration, hidden = flight.one, flight.duration, None
        exposed = flight.exposed if one.waits else None
        if duration is not None and exposed is not None and flight.end is not None:
            hidden = min(duration, max(0.0, flight.end - flight.start - self._stood(flight.start, flight.end)))
        return CollectiveTime(one.launch, one.kind, one.group, one.bucket, one.payload_bytes, duration, hidden, exposed)

    def _stood(self, start: float, end: float) -> float:
        """How long compute stood still between two moments; it does so at one wait after another."""
        first = bisect_right(self.standing, start, key=lambda stretch: stretch[1])
        last = bisect_left(self.standing, end, key=lambda stretch: stretch[0])
        return sum(min(until, end) - max(since, start) for since, until in self.standing[first:last])

    def _span(self, flight: _Flight) -> Span:
        one = flight.one
        size = "unknown size" if one.payload_bytes is None else f"{one.payload_bytes / 1e6:.4g} MB"
        ranks = "" if one.group == HOST else f" over {'an unknown number of' if one.num_ranks is None else one.num_ranks} ranks"
        bucket = f", bucket {one.bucket}" if one.bucket else ""
        lane = HOST if one.group == HOST else f"group {one.group}".strip()
        return Span(lane, one.launch, "communication", flight.start, flight.end, f"{one.kind} of {size}{ranks}{bucket}")


def _words(step: Step) -> str:
    """What a step of compute does, for a tooltip."""
    flops, size = step.flops, step.num_bytes
    work = "unknown operations" if flops is None else f"{flops / 1e9:.4g} GFLOP"
    moved = "unknown traffic" if size is None else f"{size / 1e6:.4g} MB read and written"
    return f"{step.nodes} nodes, {work}, {moved}" if step.nodes > 1 else f"{work}, {moved}"


def _sum(values: Iterable[float | None]) -> float | None:
    values = list(values)
    return None if None in values else sum(value for value in values if value is not None)
