"""One step, planned, compiled, compared and timed in every mode: what the demo shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

import hyperviz as hv
from hyperviz.capture import JointGraph
from hyperviz.passes import CompiledGraph
from hyperviz.snapshot import CompileReport, Equality, Plan, Timings

EAGER = "off"
CONFIDENCE = 0.95
CONFIGS = {
    EAGER: hv.PassConfig(),
    "regional": hv.PassConfig(inductor_mode="regional"),
    "full": hv.PassConfig(inductor_mode="full"),
    # Eager nodes end a region: the step falls into the runs between its normalisations, most of them alike.
    "norms eager": hv.PassConfig(inductor_mode="regional", keep_eager=("aten.native_layer_norm", "aten.native_layer_norm_backward")),
    # Torch's own kernels inside compiled regions: whatever differs here is no rounding but a fault.
    "exact": hv.PassConfig(inductor_mode="regional", numerics="exact"),
}


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that was found out about one step, under the labels of ``CONFIGS``.

    Attributes:
        plans: what was to be compiled.
        reports: what compiling it took.
        equalities: how the results relate to the eager graph's, for every label but ``"off"``.
        timings: of all of them, in interleaved rounds; ``"off"`` is the eager graph.
    """

    plans: Mapping[str, Plan]
    reports: Mapping[str, CompileReport]
    equalities: Mapping[str, Equality]
    timings: Timings


def study(joint: JointGraph, flat: Sequence[torch.Tensor], rounds: int) -> Study:
    """Compiles a joint graph under each config, compares each with the eager graph, and times them side by side.

    Args:
        joint: left as it is.
        flat: the real tensors for its placeholders, in order.
        rounds: timed rounds.
    """
    compiled = {label: _compile(joint, label) for label in CONFIGS}
    print("comparing, then timing them side by side ...", flush=True)
    return Study(
        plans={label: one.plan for label, one in compiled.items()},
        reports={label: one.report for label, one in compiled.items()},
        equalities={label: hv.compare(joint, one, flat, labels=(EAGER, label)) for label, one in compiled.items() if label != EAGER},
        timings=hv.benchmark(compiled, flat, rounds=rounds, confidence=CONFIDENCE),
    )


def _compile(joint: JointGraph, label: str) -> CompiledGraph:
    print(f"compiling {label}: {hv.plan(joint, CONFIGS[label])} ...", flush=True)
    return hv.compile(joint, CONFIGS[label])
