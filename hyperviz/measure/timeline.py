"""A timeline of real runs on this machine, or on this rank: every node timed, every wait as it was."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx

from hyperviz.analysis.timeline import lay_out
from hyperviz.graph import calm
from hyperviz.graph.collectives import group_of, kind_of
from hyperviz.graph.groups import find_group
from hyperviz.graph.kinds import is_call, is_point_to_point, operator_name
from hyperviz.graph.values import tensors_of
from hyperviz.measure.inputs import clone_inputs
from hyperviz.measure.live import NodeByNode, live_bytes
from hyperviz.measure.run import kept_random_state
from hyperviz.snapshot import Schedule, Timeline

Times = dict[str, list[float]]


def measure_timeline(
    graph_module: fx.GraphModule,
    schedule: Schedule,
    flat: Sequence[object],
    *,
    rounds: int = 5,
    together: bool = False,
    title: str = "",
    where: str = "",
) -> Timeline:
    """Runs a graph node by node and lays out the medians.

    There are four kinds of runs: as the graph is, without a watch; in its own order, each node timed; with each collective waited for at
    once, all its ranks having met before, which tells how long it takes by itself and what a wait costs that has nothing to wait for;
    and one that follows the allocator.

    Args:
        graph_module: on the CPU; where ranks communicate, every rank runs it at the same time.
        schedule: of this very graph, regions uncut.
        flat: one real value for each placeholder; every run gets copies.
        rounds: how many runs of each of the first three kinds, after one that is not counted.
        together: whether ranks communicate.
        title: what it is a timeline of.
        where: what it ran on, in words.

    Raises:
        ValueError: a tensor is not on the CPU, or there are fewer rounds than one.
    """
    _check(flat, rounds)
    recording = _record(graph_module, flat, rounds, together)
    with calm(), kept_random_state():
        held = live_bytes(graph_module, clone_inputs(flat))
    waits = {wait for one in schedule.collectives for wait in one.waits}
    took, alone = recording.medians(recording.timed), recording.medians(recording.alone)
    idle = {name: min(took[name], alone[name]) for name in waits if name in took and name in alone}
    build = lay_out(
        _with_memory(schedule, held),
        lambda step: idle.get(step.name, took.get(step.name)),
        lambda one: alone.get(one.launch),
        {name: took[name] - idle[name] for name in idle},
    )
    return build(title, f"measured on {where}", _notes(recording, rounds, bool(schedule.collectives), held))


def _check(flat: Sequence[object], rounds: int) -> None:
    if not isinstance(rounds, int) or rounds < 1:
        raise ValueError(f"rounds must be a whole number of at least 1, got {rounds!r}")
    strays = [value.device for value in flat if isinstance(value, torch.Tensor) and value.device.type != "cpu"]
    if strays:
        raise ValueError(f"flat must be on the CPU to be timed node by node, got one on {strays[0]}; hardware= estimates without a run")


@dataclass(slots=True)
class _Recording:
    """Times in milliseconds: of whole runs, and of nodes by name."""

    whole: list[float] = field(default_factory=list)
    timed: Times = field(default_factory=dict)
    alone: Times = field(default_factory=dict)

    @staticmethod
    def medians(times: Times) -> dict[str, float]:
        return {name: statistics.median(samples) for name, samples in times.items()}


def _record(graph_module: fx.GraphModule, flat: Sequence[object], rounds: int, together: bool) -> _Recording:
    recording = _Recording()
    with calm(), kept_random_state():
        for index in range(rounds + 1):
            kept = recording if index else _Recording()  # the first is not counted
            inputs = _ready(flat, together)
            start = time.perf_counter_ns()
            graph_module(*inputs)
            kept.whole.append((time.perf_counter_ns() - start) / 1e6)
            _Timed(graph_module, kept.timed).run(*_ready(flat, together))
            _Alone(graph_module, kept.alone).run(*_ready(flat, together))
    return recording


def _ready(flat: Sequence[object], together: bool) -> list[object]:
    """Fresh inputs, when all ranks have theirs."""
    inputs = clone_inputs(flat)
    if together and dist.is_available() and dist.is_initialized():
        dist.barrier()
    return inputs


class _Timed(NodeByNode):
    """Takes the time of every call, the handling of arguments aside."""

    def __init__(self, graph_module: fx.GraphModule, times: Times) -> None:
        super().__init__(graph_module)
        self.times = times

    def perform(self, n: fx.Node) -> Any:
        if not is_call(n):
            return super().perform(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        self.before(n)
        start = time.perf_counter_ns()
        result = getattr(self, n.op)(n.target, args, kwargs)
        self.after(n, result)
        self.times.setdefault(n.name, []).append((time.perf_counter_ns() - start) / 1e6)
        return result

    def before(self, n: fx.Node) -> None:
        """What happens before the clock starts."""

    def after(self, n: fx.Node, result: object) -> None:
        """What happens before the clock stops."""


class _Alone(_Timed):
    """Waits for every collective at once."""

    def before(self, n: fx.Node) -> None:
        group = find_group(group_of(n)) if kind_of(n) and not is_point_to_point(n) else None
        if group is not None:
            dist.barrier(group)

    def after(self, n: fx.Node, result: object) -> None:
        if kind_of(n) and operator_name(n.target)[0].startswith("_c10d_functional"):
            for tensor in tensors_of(result):
                torch.ops._c10d_functional.wait_tensor(tensor)


def _with_memory(schedule: Schedule, held: Mapping[str, int] | None) -> Schedule:
    """The schedule with what was really held in place of what was worked out."""
    if not held:
        return schedule
    steps = tuple(replace(step, live_bytes=held.get(step.name), least_bytes=held.get(step.name)) for step in schedule.steps)
    known = {step.name: step.live_bytes for step in steps if step.live_bytes is not None}
    peak = max(known.values(), default=0)
    node = next((name for name, size in known.items() if size == peak), "")
    return replace(schedule, steps=steps, peak_bytes=peak, least_peak_bytes=peak, peak_step=node, at_peak=())


def _notes(recording: _Recording, rounds: int, communicates: bool, held: object) -> list[str]:
    notes = [f"medians of {rounds} runs of each node, end to end; a whole step that nobody watches takes {_median(recording.whole):.3g} ms"]
    if communicates:
        notes.append(
            "how long a collective takes was measured by itself, its ranks having met before it; a wait is also for ranks that are late"
        )
    if held is None:
        notes.append("memory was worked out, not measured: another profiler was running")
    return notes


def _median(samples: Sequence[float]) -> float:
    return statistics.median(samples)
