"""What one real rank does with a step: capture, shard, compile, compare and time it, and say on the way how far it is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hyperviz.api.parallel import apply_passes
from hyperviz.api.verbs import benchmark, compare, compile
from hyperviz.capture import trace
from hyperviz.distributed import RankInfo, current_rank
from hyperviz.passes import PassConfig
from hyperviz.snapshot import Plan, Progress, RankResult, Timings

STAGES = ("building its model", "capturing", "sharding", "compiling", "comparing", "timing")


def study_step(build: Callable[[], Any], config: PassConfig, folder: Path) -> tuple[RankResult, Plan | None, str]:
    """Called on every rank.

    Args:
        build: returns ``(model, train_fn, inputs)`` of this rank.
        config: what to make of it.
        folder: where to say how far it is.

    Returns:
        What was found, what was compiled (on rank 0 only: it is large, and the digest tells the others apart), and the backend.
    """
    here = current_rank()
    assert here is not None, "launch opens the process group"
    diary = Diary(folder, here.rank)
    diary.begin("building its model")
    model, train_fn, inputs = _parts(build())
    diary.begin("capturing")
    joint = trace(model, train_fn, inputs)
    diary.begin("sharding")
    sharded: Any = apply_passes(joint, config, model=model)
    flat = sharded.flat_inputs(model, inputs)
    diary.begin("compiling")
    compiled = compile(sharded, config, flat, progress=diary.tell)
    diary.begin("comparing")
    equality = compare(sharded, compiled, flat)
    diary.begin("timing")
    timings = benchmark({"eager": sharded, compiled.report.mode: compiled}, flat)
    equality = dataclasses.replace(equality, notes=(*equality.notes, f"rank {here.rank} of {here.num_ranks}, on its own inputs"))
    result = RankResult(here.rank, compiled.report, equality, _placed(timings, here), digest(compiled.plan))
    return result, compiled.plan if here.rank == 0 else None, here.backend


def _parts(built: object) -> tuple[Any, Any, Any]:
    if not isinstance(built, (tuple, list)) or len(built) != 3:
        came = f"{len(built)} values" if isinstance(built, (tuple, list)) else type(built).__name__
        raise ValueError(f"build must return (model, train_fn, inputs), as hv.trace takes them, got {came}")
    return built[0], built[1], built[2]


def _placed(timings: Timings, here: RankInfo) -> Timings:
    """The times with where they were taken: whoever shows them says that a link was simulated."""
    where = {"rank": f"{here.rank} of {here.num_ranks} on {here.backend}", **({"link": str(here.link)} if here.link else {})}
    return dataclasses.replace(timings, environment={**timings.environment, **where})


def digest(plan: Plan) -> str:
    """A short text that differs where two plans differ in what they compile, or in the graph that they compile it of."""
    graph = [(node.name, node.target, node.inputs, node.tensors) for node in plan.graph.nodes]
    regions = [region.nodes for region in plan.regions]
    return hashlib.sha256(repr((graph, plan.mode, regions, sorted(plan.eager))).encode()).hexdigest()[:16]


class Diary:
    """Where a rank is, written to a file of its own, whole or not at all."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._path, self._rank, self._stage = folder / f"at-{rank}.json", rank, STAGES[0]

    def begin(self, stage: str) -> None:
        """Says that a stage begins."""
        self._stage = stage
        self.tell(Progress(0, 0))

    def tell(self, where: Progress) -> None:
        """Says how far the stage is."""
        draft = self._path.with_suffix(".draft")
        draft.write_text(
            json.dumps({"stage": STAGES.index(self._stage), "rank": self._rank, "moment": time.monotonic(), **dataclasses.asdict(where)})
        )
        os.replace(draft, self._path)


def read_diaries(folder: Path, num_ranks: int, started: float) -> Progress | None:
    """Where the rank is that is furthest behind; None as long as not all have begun.

    Args:
        folder: where the ranks write.
        num_ranks: how many do.
        started: when all began, on this machine's monotonic clock, in seconds.
    """
    entries = [json.loads(path.read_text()) for path in folder.glob("at-*.json")]
    if len(entries) < num_ranks:
        return None
    last = min(entries, key=lambda entry: (entry["stage"], entry["index"]))
    stage, rank, what = STAGES[last.pop("stage")], last.pop("rank"), last.pop("what")
    words = f"rank {rank} of {num_ranks} is {stage}" + (f" {what}" if what else "")
    last["seconds"] = last.pop("moment") - started
    return Progress(**last, what=words)
