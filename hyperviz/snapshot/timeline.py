"""A step laid out in time: one lane of compute, one for each process group, and the memory alive below."""

from __future__ import annotations

from dataclasses import dataclass

from hyperviz.snapshot.columns import aligned, peak_words, size_words, time_words
from hyperviz.snapshot.schedule import LiveValue

SPAN_KINDS = ("compute", "communication", "exposed")
COMPUTE = "compute"
"""The name of the lane of compute; a process group's is called ``"group "`` and its name, that of transfers ``"host memory"``."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that takes time on a lane.

    Attributes:
        lane: ``COMPUTE``, ``"group "`` and a process group's name, or ``"host memory"``.
        node: the node or region that it belongs to; for exposed time the wait at which compute stands still.
        kind: one of ``SPAN_KINDS``.
        start_ms: since the beginning of the step.
        end_ms: None where it is not known how long it takes.
        what: in words, as in ``"all_gather of 4.2 MB over 8 ranks"``.
        cause: for exposed time, the launch of the collective that is waited for; ``""`` otherwise.
    """

    lane: str
    node: str
    kind: str
    start_ms: float
    end_ms: float | None
    what: str = ""
    cause: str = ""

    @property
    def duration_ms(self) -> float | None:
        """How long it takes; None where that is not known."""
        return None if self.end_ms is None else self.end_ms - self.start_ms


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """How the time of one collective went; what is not known is None.

    Attributes:
        launch: the node that starts it.
        kind: see ``Collective.kind``.
        group: name of its process group.
        bucket: that it carries; ``""`` for none.
        payload_bytes: see ``Collective.payload_bytes``.
        duration_ms: how long it takes once the link is free.
        hidden_ms: the part of it during which compute ran.
        exposed_ms: how long compute stood still at its waits, whatever held the collective up.
    """

    launch: str
    kind: str
    group: str
    bucket: str
    payload_bytes: int | None
    duration_ms: float | None
    hidden_ms: float | None
    exposed_ms: float | None


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """What is alive from a moment on.

    Attributes:
        at_ms: since the beginning of the step.
        node: the node or region that runs then.
        live_bytes: see ``Step.live_bytes``.
        least_bytes: see ``Step.least_bytes``.
    """

    at_ms: float
    node: str
    live_bytes: int | None
    least_bytes: int | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A step in time. Sums with a part that is not known are None, and drawn as unknown.

    Attributes:
        title: what it is a timeline of.
        label: how the times came about: ``"estimated for …"`` or ``"measured on …"``; every picture carries it.
        spans: lane by lane, each in the order of time.
        collectives: in the order of launches.
        memory: in the order of time.
        total_ms: from the first to the last moment.
        compute_ms: time with work on the lane of compute.
        exposed_ms: time in which compute stands still for communication.
        hidden_ms: communication during which compute runs, summed over collectives.
        peak_bytes: the most memory that the step itself holds, see ``Schedule.peak_bytes``.
        least_peak_bytes: a lower bound of it; equal where no compiler decides what is materialised.
        peak_node: the node or region at which it is reached; ``""`` where that is not known.
        at_peak: what is alive there, largest first.
        input_bytes: inputs, which are alive throughout and not counted in the peak.
        notes: sentences that every picture must carry: assumptions, and what is not known.
    """

    title: str
    label: str
    spans: tuple[Span, ...]
    collectives: tuple[CollectiveTime, ...] = ()
    memory: tuple[MemoryPoint, ...] = ()
    total_ms: float | None = 0.0
    compute_ms: float | None = 0.0
    exposed_ms: float | None = 0.0
    hidden_ms: float | None = 0.0
    peak_bytes: int | None = 0
    least_peak_bytes: int | None = 0
    peak_node: str = ""
    at_peak: tuple[LiveValue, ...] = ()
    input_bytes: int | None = 0
    notes: tuple[str, ...] = ()

    @property
    def lanes(self) -> tuple[str, ...]:
        """Names of the lanes, compute first."""
        return tuple(dict.fromkeys((COMPUTE, *(span.lane for span in self.spans))))

    def __str__(self) -> str:
        head = f"{self.title} — {self.label}" if self.title else self.label
        rows = [_row(one) for one in sorted(self.collectives, key=lambda one: -(one.exposed_ms or 0.0))[:_ROWS]]
        table = aligned([("collective", "kind", "group", "payload", "takes", "hidden", "exposed"), *rows]) if rows else []
        more = len(self.collectives) - len(rows)
        return "\n".join([head, *self.summary(), *table, *([f"and {more} more, exposed for less"] if more else []), *self.notes])

    def summary(self) -> list[str]:
        """The totals, a line each for time, for memory, and for what is alive at its peak."""
        peak = peak_words(self.peak_bytes, self.least_peak_bytes)
        at = f" at {self.peak_node}" if self.peak_node else ""
        alive = ", ".join(f"{value.node} {size_words(value.num_bytes)}" for value in self.at_peak[:_VALUES])
        more = f", and {len(self.at_peak) - _VALUES} more" if len(self.at_peak) > _VALUES else ""
        total, compute, exposed, hidden = map(time_words, (self.total_ms, self.compute_ms, self.exposed_ms, self.hidden_ms))
        return [
            f"step {total} · compute {compute} · communication exposed {exposed}, hidden {hidden}",
            f"memory peak {peak}{at}, besides inputs of {size_words(self.input_bytes)}",
            *([f"alive there: {alive}{more}"] if alive else []),
        ]


@dataclass(frozen=True, slots=True)
class Timelines:
    """Several steps in time, to be drawn one above the other on one scale.

    Attributes:
        timelines: the first is drawn on top.
    """

    timelines: tuple[Timeline, ...]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.timelines))


_ROWS, _VALUES = 12, 5


def _row(one: CollectiveTime) -> tuple[str, ...]:
    times = (one.duration_ms, one.hidden_ms, one.exposed_ms)
    return one.launch, one.kind, one.group, size_words(one.payload_bytes), *map(time_words, times)
