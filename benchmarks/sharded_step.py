"""A sharded training step on two real ranks: eager, compiled by tags alone, by runs, in full, and torch's own ``fully_shard``."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping

import torch
import torch.distributed
from record import Result, record, spread

import hyperviz as hv
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch

LAYERS, WIDTH, CONTEXT, BATCH, RANKS, ROUNDS = 4, 256, 128, 4, 2, 20
LATENCY_US, SHARES = 50, (0.5, 1.0, 2.0)
SHARDED = hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*", "*"), bucket_enabled=True, enable_overlap=True, prefetch_buckets=1)
EAGER, TAGS, RUNS, FULL = "eager", "tags only", "runs", "full"
THEIRS, THEIRS_COMPILED = "fully_shard", "fully_shard, torch.compile"
COMPILED = {TAGS: ("regional", "merged"), RUNS: ("regional", "runs"), FULL: ("full", "runs")}


def fresh_model() -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(num_layers=LAYERS, width=WIDTH, context=CONTEXT))


def batch_of(rank: int) -> dict[str, torch.Tensor]:
    return sample_batch(load_text(), BATCH, CONTEXT, torch.Generator().manual_seed(rank))


def our_step(batch: Mapping[str, torch.Tensor]):
    """The sharded joint graph, eager and compiled three ways, and its inputs."""
    model = fresh_model()
    sharded = hv.apply_passes(hv.trace(model, gpt_step, batch), SHARDED, model=model)
    compiled = {
        name: hv.compile(sharded, SHARDED.replace(inductor_mode=mode, region_strategy=strategy))
        for name, (mode, strategy) in COMPILED.items()
    }
    return sharded, compiled, sharded.flat_inputs(model, batch)


def their_step(batch: Mapping[str, torch.Tensor], compiled: bool):
    """Loss and backward of the same model under ``fully_shard``, the same modules wrapped."""
    from torch.distributed.fsdp import fully_shard

    model = fresh_model()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    run = torch.compile(model) if compiled else model

    def step(*_: object) -> None:
        with torch.enable_grad():
            gpt_step(run, **batch).backward()
        model.zero_grad(set_to_none=True)

    return step


def measure_on_rank() -> dict[str, object]:
    """Called on every rank: times and peaks of every candidate, and the bytes that a step moves."""
    torch.set_num_threads(1)
    batch = batch_of(torch.distributed.get_rank())
    sharded, compiled, flat = our_step(batch)
    candidates = {EAGER: sharded, **compiled, THEIRS: their_step(batch, False), THEIRS_COMPILED: their_step(batch, True)}
    timings = hv.benchmark(candidates, flat, rounds=ROUNDS, together=True)
    equalities = {name: hv.compare(sharded, candidate, flat).verdict for name, candidate in compiled.items()}
    return {"timings": timings, "verdicts": equalities, "collectives": hv.plan(sharded).graph.collectives}


def measured(link: hv.Link | None) -> dict[str, object]:
    return hv.launch(measure_on_rank, RANKS, 1500, link=link)[0]


def link_for(share: float, compute_ms: float, collectives) -> hv.Link:
    """The link on which one step's communication takes ``share`` times the compute."""
    sent = sum(one.payload_bytes * {"all_reduce": 2}.get(one.kind, 1) * (RANKS - 1) / RANKS for one in collectives)
    seconds = share * compute_ms / 1e3 - len(collectives) * LATENCY_US / 1e6
    if seconds <= 0:
        raise ValueError(f"the latencies of {len(collectives)} collectives alone take more than {share} times {compute_ms:.1f} ms")
    return hv.Link(LATENCY_US, sent * 8 / 1e9 / seconds)


def main() -> int:
    bare = measured(None)
    compute_ms = bare["timings"][RUNS].median_ms
    links = {share: link_for(share, compute_ms, bare["collectives"]) for share in SHARES}
    over = {share: measured(link) for share, link in links.items()}
    return max(_record_bare(bare), _record_peak(bare), *(_record_link(share, links[share], over[share]) for share in SHARES))


def _ratios(found, slow: str, fast: str) -> tuple[float, ...]:
    timings = found["timings"]
    return tuple(one / two for one, two in zip(timings[slow].samples_ms, timings[fast].samples_ms, strict=True))


def _seconds(found) -> dict[str, list[float]]:
    return {timing.name: [sample / 1e3 for sample in timing.samples_ms] for timing in found["timings"].timings}


def _against_eager(found) -> str:
    others = [timing.name for timing in found["timings"].timings if timing.name != EAGER]
    return "faster than eager: " + "; ".join(f"{name} {spread(_ratios(found, EAGER, name))}" for name in others)


def _record_bare(found) -> int:
    ratios = _ratios(found, THEIRS_COMPILED, RUNS)
    return record(
        Result(
            name="sharded_step_bare",
            what=f"step of a {LAYERS}-layer GPT, width {WIDTH}, on {RANKS} gloo ranks: torch.compile of the fully_shard model over runs",
            target="at least 1x",
            reached=statistics.median(ratios) >= 1,
            ratios=ratios,
            seconds=_seconds(found),
            notes=(_against_eager(found), "verdicts against eager: " + ", ".join(f"{k} {v}" for k, v in found["verdicts"].items())),
        )
    )


def _record_peak(found) -> int:
    peaks = {timing.name: timing.peak_bytes for timing in found["timings"].timings}
    return record(
        Result(
            name="sharded_step_peak",
            what="peak memory of one rank's step above what was held before it: runs over eager",
            target="at most 1.1x",
            reached=peaks[RUNS] <= 1.1 * peaks[EAGER],
            ratios=(peaks[RUNS] / peaks[EAGER],),
            seconds={},
            notes=("peaks: " + ", ".join(f"{name} {peak / 1e6:.2f} MB" for name, peak in peaks.items()),),
        )
    )


def _record_link(share: float, link: hv.Link, found) -> int:
    ratios = _ratios(found, TAGS, RUNS)
    wanted = 1.4 if share == 1 else 1.0
    return record(
        Result(
            name=f"sharded_step_link_{share:g}x".replace(".", "_"),
            what=f"the same step over a simulated link on which communication takes {share:g} times the compute: tags only over runs",
            target=f"at least {wanted}x",
            reached=statistics.median(ratios) >= wanted,
            ratios=ratios,
            seconds=_seconds(found),
            notes=(str(link), _against_eager(found)),
        )
    )


if __name__ == "__main__":
    sys.exit(main())
