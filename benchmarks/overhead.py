"""What hyperviz adds to a compile: one region of a whole step, against torch's standalone_compile on the same nodes directly."""

import resource
import statistics
import sys
import time

import torch
from record import Result, record, spread
from steps import traced_gpt
from torch import _inductor
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch._inductor.utils import fresh_cache

import hyperviz as hv
from hyperviz.graph import copy_graph_module

LAYERS, ROUNDS, TARGET = 1, 5, 0.05


def through_hyperviz(joint):
    compiled = hv.compile(joint, hv.PassConfig(inductor_mode="regional"))
    assert len(compiled.plan.regions) == 1, "one region is what the other side compiles"


def directly(joint):
    """The same nodes, the same fake inputs, the same settings, nothing else."""
    settings = {"eager_numerics.division_rounding": True}
    context = TracingContext(detect_fake_mode(joint.example_inputs))
    with torch.no_grad(), _inductor.config.patch(settings), tracing(context):
        _inductor.standalone_compile(copy_graph_module(joint.graph_module), joint.example_inputs, dynamic_shapes="from_tracing_context")


def timed(compile_step, joint) -> tuple[float, float]:
    """Seconds of processor time, the C++ compiler's included, and by the clock; every cache of Inductor empty, all of torch loaded."""
    torch._dynamo.reset()
    with fresh_cache():
        clock, processor = time.perf_counter(), processor_seconds()
        compile_step(joint)
        return processor_seconds() - processor, time.perf_counter() - clock


def processor_seconds() -> float:
    """What this process and the processes that it waited for have used."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> int:
    joint = traced_gpt(LAYERS)
    sides = {"directly": directly, "through hyperviz": through_hyperviz}
    for side in sides.values():  # the first compile of a process loads much of torch, whoever asks for it
        timed(side, joint)
    times = {name: [] for name in sides}
    for index in range(ROUNDS):
        for name in sorted(sides, reverse=index % 2 == 1):
            times[name].append(timed(sides[name], joint))
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
