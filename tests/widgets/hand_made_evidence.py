"""What can be told of the hand-made step before it is compiled, made by hand."""

from __future__ import annotations

import threading

from hyperviz.snapshot import (
    COMPUTE,
    Apart,
    Between,
    CollectiveTime,
    JoinCost,
    MemoryPoint,
    Span,
    StrategyCost,
    Tie,
    Timeline,
    Timelines,
)
from hyperviz.widgets.backend import Knobs


class HandMadeEvidence:
    """Costs, timelines and answers; ``held`` holds every answer back until it is set.

    Attributes:
        asked: what was asked, in order.
    """

    costs_label = "estimated for hand-made hardware"

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.held = threading.Event()
        self.held.set()

    def strategy_cost(self, knobs: Knobs, strategy: str) -> StrategyCost:
        self.held.wait(timeout=30)
        self.asked.append(("cost", strategy))
        if strategy == "merged":
            return StrategyCost("merged", note="merged needs torch 2.10 or later")
        if strategy == "annotated":
            raise RuntimeError("no annotation <here>")
        return StrategyCost(strategy, 26 if strategy == "runs" else 10, 7, 0.155, 0.0885, 0.0628, 3_270_000, 2_860_000, 11, 11)

    def hardware(self) -> tuple[str, ...]:
        return "h100", "a100"

    def timelines(self, knobs: Knobs, hardware: str) -> Timelines:
        self.held.wait(timeout=30)
        self.asked.append(("timelines", str(knobs), hardware))
        if hardware == "a100":
            raise ValueError("hardware must be h100, got 'a100' <b>")
        return Timelines((timeline("The graph, eager", "mm_0"), timeline(f"The plan, {knobs}", "region_0")))

    def why_apart(self, knobs: Knobs, first: str, second: str) -> Apart:
        self.held.wait(timeout=30)
        self.asked.append(("apart", first, second))
        if first == "region_7":
            raise ValueError("'region_7' must be a region of the plan or a node of the graph, and is neither; did you mean 'region_0'?")
        tie = Tie("relu_0", "gather_1", "effect"), Tie("gather_1", "mm_1", "data")
        between = Between("gather_1", "collective", "communication stays eager <i>", tie[:1], tie[1:])
        cost = JoinCost("gather_1", 0.02, 0.01, 0.0, allowed=False)
        words = "No: gather_1 runs outside regions."
        return Apart((first, second), "region_0", "region_1", "order", words, (between,), 0, tie, (cost,), "estimated for H100", 4096, 8192)


def timeline(title: str, first: str) -> Timeline:
    """Two pieces of compute, a gather that the second waits for, and the memory below."""
    spans = (
        Span(COMPUTE, first, "compute", 0.0, 1.0, "2 nodes"),
        Span(COMPUTE, "wait_1", "exposed", 1.0, 1.5, "waits for gather_1", "gather_1"),
        Span(COMPUTE, "mm_1", "compute", 1.5, 2.5, "1 node"),
        Span("group <g>", "gather_1", "communication", 0.5, 1.5, "all_gather of 1 MB over 8 ranks"),
    )
    gather = CollectiveTime("gather_1", "all_gather", "<g>", "", 1_000_000, 1.0, 0.5, 0.5)
    memory = (MemoryPoint(0.0, first, 2048, 1024), MemoryPoint(1.5, "mm_1", 4096, 4096))
    return Timeline(title, "estimated for H100", spans, (gather,), memory, 2.5, 2.0, 0.5, 0.5, 4096, 4096, "mm_1")
