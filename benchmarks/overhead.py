"""What hyperviz adds to a compile: one region of a whole step, against torch's standalone_compile on the same nodes directly."""

import statistics
import sys
import time

import torch
from record import Result, record
from steps import traced_gpt
from torch import _inductor
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch._inductor.utils import fresh_cache

import hyperviz as hv
from hyperviz.graph import copy_graph_module

LAYERS, ROUNDS, TARGET = 2, 5, 0.05


def through_hyperviz(joint):
    compiled = hv.compile(joint, hv.PassConfig(inductor_mode="regional"))
    assert len(compiled.plan.regions) == 1, "one region is what the other side compiles"


def directly(joint):
    """The same nodes, the same fake inputs, the same settings, nothing else."""
    settings = {"eager_numerics.division_rounding": True}
    context = TracingContext(detect_fake_mode(joint.example_inputs))
    with torch.no_grad(), _inductor.config.patch(settings), tracing(context):
        _inductor.standalone_compile(copy_graph_module(joint.graph_module), joint.example_inputs, dynamic_shapes="from_tracing_context")


def timed(compile_step, joint) -> float:
    """Seconds, with every cache of Inductor empty and every module of torch loaded."""
    torch._dynamo.reset()
    with fresh_cache():
        start = time.perf_counter()
        compile_step(joint)
        return time.perf_counter() - start


def main() -> int:
    joint = traced_gpt(LAYERS)
    sides = {"directly": directly, "through hyperviz": through_hyperviz}
    for side in sides.values():  # the first compile of a process loads much of torch, whoever asks for it
        timed(side, joint)
    seconds = {name: [] for name in sides}
    for index in range(ROUNDS):
        for name in sorted(sides, reverse=index % 2 == 1):
            seconds[name].append(timed(sides[name], joint))
    ratios = tuple(ours / theirs for ours, theirs in zip(seconds["through hyperviz"], seconds["directly"], strict=True))
    return record(
        Result(
            name="overhead",
            what=f"compiling the one region of a {LAYERS}-layer GPT step ({len(hv.plan(joint).graph)} nodes) through hyperviz over "
            "torch's standalone_compile on the same nodes, caches empty",
            target=f"below {1 + TARGET}x",
            reached=statistics.median(ratios) < 1 + TARGET,
            ratios=ratios,
            seconds=seconds,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
