"""How much sooner a plan is there than what it plans: for a person who turns knobs, the difference between looking and waiting."""

import statistics
import sys
import time

import torch
from record import Result, record
from steps import traced_gpt
from torch._inductor.utils import fresh_cache

import hyperviz as hv

LAYERS, ROUNDS, PLANS, TARGET, TARGET_S = 8, 3, 10, 50, 0.3
CONFIG = hv.PassConfig(inductor_mode="regional")


def plan_seconds(joint) -> float:
    """Seconds for a first plan, of a graph that has not been planned before."""
    fresh = torch.fx.GraphModule(joint.graph_module, joint.graph_module.graph)
    start = time.perf_counter()
    hv.plan(fresh, CONFIG)
    return time.perf_counter() - start


def compile_seconds(joint) -> float:
    """Seconds for the same plan's compile, with every cache of Inductor empty."""
    torch._dynamo.reset()
    with fresh_cache():
        start = time.perf_counter()
        hv.compile(joint, CONFIG)
        return time.perf_counter() - start


def main() -> int:
    joint, small = traced_gpt(LAYERS), traced_gpt(1)
    plan_seconds(small), compile_seconds(small)  # loads what both sides need of torch
    plans, compiles, ratios = [], [], []
    for _ in range(ROUNDS):
        round_plans = [plan_seconds(joint) for _ in range(PLANS)]
        compiles.append(compile_seconds(joint))
        plans += round_plans
        ratios.append(compiles[-1] / statistics.median(round_plans))
    nodes = len(hv.plan(joint).graph)
    return record(
        Result(
            name="plan_vs_compile",
            what=f"planning an {LAYERS}-layer GPT step ({nodes} nodes) for the first time, against compiling the plan with empty caches",
            target=f"at least {TARGET}x, and a plan under {TARGET_S} s",
            reached=statistics.median(ratios) >= TARGET and statistics.median(plans) < TARGET_S,
            ratios=tuple(ratios),
            seconds={"plan": plans, "compile": compiles},
        )
    )


if __name__ == "__main__":
    sys.exit(main())
