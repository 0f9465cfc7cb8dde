"""Compile, compare and time one step on real ranks, and bring what each of them found home."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperviz.api.on_rank import read_diaries, study_step
from hyperviz.distributed import Link, check_launch, launch
from hyperviz.passes import PassConfig
from hyperviz.snapshot import Progress, RankReports


@dataclass(frozen=True, slots=True)
class Ranks:
    """Real ranks that each build, compile, compare and time their part of one step.

    Nothing is started until it is asked for: by `run_on_ranks`, or by Compile in an explorer::

        def build():
            torch.manual_seed(0)                                        # the same parameters on every rank
            model = GPT(GPTConfig())
            batch = sample_batch(load_text(), 4, 16, torch.Generator().manual_seed(dist.get_rank()))   # its own batch
            return model, gpt_step, batch

        ranks = hv.Ranks(build, num_ranks=2, link=hv.Link(latency_us=50, gbps=10))
        hv.explore(joint, config=config, ranks=ranks)

    Attributes:
        build: called on every rank, where its process group is up; returns ``(model, train_fn, inputs)`` as ``hv.trace`` takes them.
            What a notebook defines travels along, as with ``hv.launch``.
        num_ranks: how many.
        link: a simulated link under the collectives; times that were measured over one say so.
        timeout_s: how long all of it may take once the ranks have joined, in seconds.

    Raises:
        ValueError: one of them is nothing that ``hv.launch`` takes.
    """

    build: Callable[[], Any]
    num_ranks: int = 2
    link: Link | None = None
    timeout_s: float = 600

    def __post_init__(self) -> None:
        if not callable(self.build):
            raise ValueError(f"build must be callable and return (model, train_fn, inputs), got {self.build!r}")
        check_launch(self.build, self.num_ranks, self.timeout_s, (), self.link)

    def __str__(self) -> str:
        count = f"{self.num_ranks} real rank{'' if self.num_ranks == 1 else 's'}"
        return count + (f", over a {self.link}" if self.link else "")


def run_on_ranks(
    ranks: Ranks | Callable[[], Any], config: PassConfig | None = None, *, progress: Callable[[Progress], None] | None = None
) -> RankReports:
    """Compiles one step on real ranks, compares it with the eager one and times both, on every rank.

    Each rank captures its own part of the step, shards it (``hv.apply_passes``), compiles it (``hv.compile``), compares eager with
    compiled on its own inputs (``hv.compare``) and times both in the same rounds as the others (``hv.benchmark``).

    Args:
        ranks: which, or what each of two builds.
        config: the parallel passes and what to compile; by default mode ``"off"`` without any.
        progress: told, some times a second, where the rank is that is furthest behind; an exception raised in it ends all ranks.

    Returns:
        Every rank's report, equality and timings, and the plan of rank 0.

    Raises:
        ValueError: ``ranks`` or ``config`` is none, or what ``build`` names cannot be sent to a rank.
        RankError: a rank raised, died, or time ran out.
    """
    if not isinstance(ranks, Ranks):
        ranks = Ranks(ranks)
    config = PassConfig() if config is None else config
    if not isinstance(config, PassConfig):
        raise ValueError(f"config must be a PassConfig, got {type(config).__name__}")
    with tempfile.TemporaryDirectory(prefix="hyperviz-ranks-") as name:
        folder, started = Path(name), time.monotonic()

        def watch() -> None:
            if progress is not None:
                beginning = Progress(0, 0, what=f"starting {ranks.num_ranks} ranks", seconds=time.monotonic() - started)
                progress(read_diaries(folder, ranks.num_ranks, started) or beginning)

        found = launch(study_step, ranks.num_ranks, ranks.timeout_s, (ranks.build, config, folder), ranks.link, watch=watch)
    results, plans, backends = zip(*found, strict=True)
    return RankReports(tuple(results), plans[0], backends[0], str(ranks.link) if ranks.link else "")
