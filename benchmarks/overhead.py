"""What hyperviz adds to a compile: one region of a whole step, against torch's standalone_compile on the same nodes directly."""

import resource
import statistics
import sys
import time

import torch
from record import Result, record, spread
from steps import traced_gpt
from torch import _inductor as inductor
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch._inductor.utils import fresh_cache

import hyperviz as hv
from hyperviz.graph import copy_graph_module

LAYERS, ROUNDS, TARGET = 1, 5, 0.05


def through_hyperviz(joint):
    """Everything that hv.compile does; returns the one region as the graph that was compiled."""
    compiled = hv.compile(joint, hv.PassConfig(inductor_mode="regional"))
    (region,) = (getattr(compiled.graph_module, planned.name) for planned in compiled.plan.regions)
    return region.graph_module


def directly(region):
    """The very same graph, with the same fake inputs and settings, and nothing around it."""
    inputs = [node.meta["val"] for node in region.graph.nodes if node.op == "placeholder"]
    settings = {"eager_numerics.division_rounding": True}
    with torch.no_grad(), inductor.config.patch(settings), tracing(TracingContext(detect_fake_mode(inputs))):
        inductor.standalone_compile(region, inputs, dynamic_shapes="from_tracing_context")


def timed(compile_step, what) -> tuple[float, float]:
    """Seconds of processor time, the C++ compiler's included, and by the clock; every cache of Inductor empty, all of torch loaded."""
    torch._dynamo.reset()
    with fresh_cache():
        clock, processor = time.perf_counter(), processor_seconds()
        compile_step(what)
        return processor_seconds() - processor, time.perf_counter() - clock


def processor_seconds() -> float:
    """What this process and the processes that it waited for have used."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> int:
    joint = traced_gpt(LAYERS)
    region = through_hyperviz(joint)
    timed(directly, copy_graph_module(region))  # the first compile with empty caches loads more of torch, whoever asks for it
    sides = {
        "directly": lambda: timed(directly, copy_graph_module(region)),
        "through hyperviz": lambda: timed(through_hyperviz, joint),
    }
    times = {name: [] for name in sides}
    for index in range(ROUNDS):
        for name in sorted(sides, reverse=index % 2 == 1):
            times[name].append(sides[name]())
    processor, clock = (
        [ours[kind] / theirs[kind] for ours, theirs in zip(times["through hyperviz"], times["directly"], strict=True)] for kind in (0, 1)
    )
    return record(
        Result(
            name="overhead",
            what=f"processor time to compile the one region of a {LAYERS}-layer GPT step ({len(hv.plan(joint).graph)} nodes) through "
            "hyperviz over torch's standalone_compile on the same nodes, caches empty",
            target=f"below {1 + TARGET}x",
            reached=statistics.median(processor) < 1 + TARGET,
            ratios=tuple(processor),
            seconds={name: [seconds for seconds, _ in pairs] for name, pairs in times.items()},
            notes=(f"by the clock, which everything else on the machine moves too: {spread(clock)}",),
        )
    )


if __name__ == "__main__":
    sys.exit(main())
