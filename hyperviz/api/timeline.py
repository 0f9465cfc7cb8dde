"""A step laid out in time: estimated for named hardware, or measured on this machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import fx

from hyperviz.analysis import Hardware, Regions, estimate_timeline, find_regions, hardware_named, schedule_of
from hyperviz.analysis.hardware import CPU, NAMES
from hyperviz.analysis.networks import Network, Protocol
from hyperviz.api.groups import group_ranks, group_sizes
from hyperviz.api.parallel import parallelised, runnable, world_of
from hyperviz.api.programs import Graph, communicates, graph_module_of, refusal_of
from hyperviz.capture import JointGraph
from hyperviz.distributed import Link, current_link, current_rank
from hyperviz.measure.calibrate import cpu_name, this_cpu
from hyperviz.measure.timeline import measure_timeline
from hyperviz.passes import CompiledGraph, PassConfig
from hyperviz.snapshot import Plan, Timeline


def timeline(
    program: Graph | CompiledGraph,
    config: PassConfig | None = None,
    *,
    hardware: str | Hardware | None = None,
    flat: Sequence[object] | None = None,
    link: Link | None = None,
    rounds: int = 5,
    title: str = "",
) -> Timeline:
    """Where the time of a step goes: compute, communication that it hides, communication that it stands still for; and its memory.

    Give ``hardware`` for an estimate, which runs nothing, or ``flat`` for a measurement, which runs the step on this machine; on ranks
    every rank calls it, and gets the timeline of its own. The label says which it is.

    Args:
        program: a joint graph, a plain ``fx.GraphModule``, or a compiled graph; left as it is.
        config: with it, an estimate is of what ``hv.compile(program, config)`` would make: the plan. Not for a compiled graph, and not for
            a measurement, which needs the real thing.
        hardware: ``"h100"``, ``"h200"``, ``"a100"``, ``"mi300x"``, ``"cpu"`` for this machine, whose rates are measured in half a second,
            or figures of one's own. A link between ranks on ``"cpu"`` is unknown unless ``link`` tells it.
        flat: the real inputs, one for each placeholder, on the CPU.
        link: for an estimate: a link between all ranks in place of the hardware's own. Where ranks run on a simulated link, it is that.
        rounds: for a measurement: how many runs medians are taken of.
        title: what it is a timeline of; by default the program's title and what is compiled.

    Returns:
        Spans, hidden and exposed time of each collective, the curve of live bytes; what is not known is None.

    Raises:
        ValueError: neither or both of ``hardware`` and ``flat`` are given, the hardware is unknown, or the program cannot be run.
    """
    _check(program, config, hardware, flat, link)
    if flat is not None:
        return _measured(program, flat, rounds, title)
    assert hardware is not None
    graph_module, regions, default = _planned(program, config)
    schedule = schedule_of(graph_module, regions, group_sizes=group_sizes(graph_module))
    estimate = estimate_timeline(schedule, _hardware(hardware, link), title=title or default, group_ranks=group_ranks(graph_module))
    caveat = _caveat(program)
    return dataclasses.replace(estimate, notes=(caveat, *estimate.notes)) if caveat else estimate


def _check(program: object, config: object, hardware: object, flat: object, link: object) -> None:
    if isinstance(program, Plan):
        raise ValueError(
            "a plan holds no operators to time: give the graph that was planned, and the config, as in hv.timeline(joint, config)"
        )
    if not isinstance(program, CompiledGraph):
        graph_module_of(program)
    if (hardware is None) == (flat is None):
        came = "neither" if flat is None else "both"
        raise ValueError(f"give either hardware= to estimate ({', '.join(NAMES)}) or flat= to measure on this machine, got {came}")
    if config is not None and not isinstance(config, PassConfig):
        raise ValueError(f"config must be a PassConfig, got {type(config).__name__}")
    if config is not None and (isinstance(program, CompiledGraph) or flat is not None):
        raise ValueError("config must be left out for a compiled graph and for a measurement: compile first, then give what was compiled")
    if link is not None and not isinstance(link, Link):
        raise ValueError(f"link must be a Link, as in hv.Link(latency_us=50, gbps=100), got {link!r}")
    if link is not None and flat is not None:
        raise ValueError("link must be left out for a measurement: ranks run on the link that hv.launch(..., link=...) gave them")


def _planned(program: Graph | CompiledGraph, config: PassConfig | None) -> tuple[fx.GraphModule, Regions | None, str]:
    """The graph, the regions that would be compiled, and what to call it."""
    if isinstance(program, CompiledGraph):
        plan = program.plan
        made = "eager" if plan.mode == "off" else f"{plan.mode}, {plan.strategy}, compiled"
        return program.graph_module, None, f"{plan.graph.title}: {made}"
    joint = parallelised(program, config) if config else program
    graph_module = graph_module_of(joint)
    name = joint.title if isinstance(joint, JointGraph) else type(graph_module).__name__
    if config is None or config.inductor_mode == "off":
        return graph_module, None, f"{name}: eager"
    mode, strategy = config.inductor_mode, config.region_strategy
    regions = find_regions(graph_module.graph, mode=mode, strategy=strategy, keep_eager=config.keep_eager, limits=config.limits)
    return graph_module, regions, f"{name}: {mode}, {strategy}"


def _caveat(program: Graph | CompiledGraph) -> str:
    """That the ranks do not exist, if they do not."""
    if isinstance(program, CompiledGraph):
        return program.plan.graph.caveat
    world = world_of(program)
    return world.note if world else ""


def _hardware(named: str | Hardware, link: Link | None) -> Hardware:
    found = named if isinstance(named, Hardware) else this_cpu() if str(named).lower() == CPU else hardware_named(named)
    if link is None and found.inside is None:
        link = current_link()
    if link is None:
        return found
    network = Network(link.gbps, str(link), (Protocol(link.latency_us, 0.0),))
    title = f"{found.title} over a link of {link.latency_us:g} µs and {link.gbps:g} Gb/s"
    return dataclasses.replace(found, title=title, num_per_node=1, inside=network, between=network)


def _measured(program: Graph | CompiledGraph, flat: Sequence[object], rounds: int, title: str) -> Timeline:
    if not isinstance(flat, (list, tuple)):
        raise ValueError(f"flat must be a list or tuple with one value per input, got {type(flat).__name__}")
    if refusal := refusal_of(program):
        raise ValueError(refusal)
    if not isinstance(program, CompiledGraph):
        program = runnable(program)
    graph_module, _, default = _planned(program, None)
    expected = len(graph_module.graph.find_nodes(op="placeholder"))
    if len(flat) != expected:
        raise ValueError(f"flat must hold one value for each of the {expected} inputs, got {len(flat)}")
    schedule = schedule_of(graph_module, cut=False)
    together = communicates(program)
    return measure_timeline(graph_module, schedule, flat, rounds=rounds, together=together, title=title or default, where=_where(together))


def _where(together: bool) -> str:
    """The machine in words, this rank's place, and the link under it."""
    threads = torch.get_num_threads()
    words = f"{cpu_name()}, {threads} thread{'' if threads == 1 else 's'}"
    if together and dist.is_available() and dist.is_initialized():
        here = current_rank()
        words += f", rank {dist.get_rank()} of {dist.get_world_size()}"
        words += f", {here.link}" if here and here.link else f" on {dist.get_backend()}"
    return words
