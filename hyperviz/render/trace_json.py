"""Timelines in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. One process for each timeline, one thread
for each lane, complete events ("X") for spans, flow events ("s", "f") from a launch to the wait that stands still for it, instants ("i")
for what is not known how long it takes, counters ("C") for memory. Times are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hyperviz.snapshot import Span, Timeline

Event = dict[str, object]


def trace_json(timelines: Timeline | Sequence[Timeline]) -> str:
    """The timelines as one trace.

    Args:
        timelines: one, or several, each a process of its own.
    """
    shown = [timelines] if isinstance(timelines, Timeline) else list(timelines)
    events = [event for process, timeline in enumerate(shown, start=1) for event in _events(process, timeline)]
    facts = {timeline.title or f"timeline {index}": str(timeline).split("\n") for index, timeline in enumerate(shown, start=1)}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": facts}, separators=(",", ":"))


def _events(process: int, timeline: Timeline) -> Iterator[Event]:
    threads = {lane: index for index, lane in enumerate(timeline.lanes, start=1)}
    title = f"{timeline.title or 'step'} ({timeline.label})"
    yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": title}}
    yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}
    for lane, thread in threads.items():
        yield {"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": {"name": lane}}
        yield {"ph": "M", "pid": process, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}
    for span in timeline.spans:
        yield _span(process, threads[span.lane], span)
    yield from _flows(process, timeline, threads)
    for point in timeline.memory:
        sizes = {"live bytes": point.live_bytes, "at least": point.least_bytes}
        if known := {name: size for name, size in sizes.items() if size is not None}:
            yield {"ph": "C", "pid": process, "name": "memory held", "ts": point.at_ms * 1000, "args": known}


def _span(process: int, thread: int, span: Span) -> Event:
    name = f"wait for {span.cause}" if span.kind == "exposed" else span.node
    event = {"pid": process, "tid": thread, "name": name, "cat": span.kind, "ts": span.start_ms * 1000}
    about = {"node": span.node, "what": span.what}
    if span.end_ms is None:
        return {**event, "ph": "i", "s": "t", "args": {**about, "duration": "unknown"}}
    return {**event, "ph": "X", "dur": (span.end_ms - span.start_ms) * 1000, "args": about}


def _flows(process: int, timeline: Timeline, threads: dict[str, int]) -> Iterator[Event]:
    """An arrow from each collective to every wait at which compute stands still for it."""
    flights = {span.node: span for span in timeline.spans if span.kind == "communication"}
    for number, wait in enumerate(span for span in timeline.spans if span.kind == "exposed" and span.cause in flights):
        flight = flights[wait.cause]
        shared = {"pid": process, "name": "waits for", "cat": "wait", "id": process * 1_000_000 + number}
        yield {**shared, "ph": "s", "tid": threads[flight.lane], "ts": flight.start_ms * 1000}
        yield {**shared, "ph": "f", "bp": "e", "tid": threads[wait.lane], "ts": wait.start_ms * 1000}
