"""How long callables take, side by side, in interleaved rounds of one run."""

from __future__ import annotations

import gc
import math
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from hyperviz.graph import calm
from hyperviz.measure.inputs import clone_inputs
from hyperviz.measure.peak import peak_bytes
from hyperviz.measure.run import kept_random_state
from hyperviz.measure.together import most
from hyperviz.snapshot import Timing, Timings
from hyperviz.snapshot.timing import median_interval, min_samples


def benchmark(
    candidates: Mapping[str, Callable[..., Any]],
    flat: Sequence[object],
    *,
    rounds: int = 20,
    warmup: int = 3,
    confidence: float = 0.95,
    threads: int | None = None,
    min_sample_ms: float = 1.0,
    seed: int = 0,
    together: bool = False,
) -> Timings:
    """Times candidates in rounds: each round times every candidate once, in an order shuffled anew.

    So what changes on the machine over time meets all candidates alike, and the two times of one round can be compared. One sample is
    the mean of as many calls as last far longer than the timer's resolution: ``time.perf_counter_ns``, or CUDA events around the calls
    where an input lives on a CUDA device. Python's garbage collector runs before the first round and is off until the last. All run
    under ``no_grad`` with autocast off. In a run of its own, not timed, each candidate's peak memory is measured (``peak_bytes``).

    Args:
        candidates: name → callable, called as ``f(*flat)``.
        flat: the inputs; every candidate works on one copy of its own, so what it writes to its inputs it finds there at its next
            call, and no other candidate does.
        rounds: samples per candidate; at least 6 for an interval of 95 %.
        warmup: calls of each candidate before anything is measured; compilation happens here.
        confidence: of the intervals, which are exact and assume no distribution (``median_interval``).
        threads: torch's intra-op threads while measuring; None leaves them. Kernels that Inductor compiled keep the number that was
            set then, unless ``cpp.dynamic_threads`` was.
        min_sample_ms: how long the calls of one sample shall last together.
        seed: of the order, and of torch before each candidate's warm-up.
        together: whether every rank of the process group takes part, with candidates that communicate: then a sample is as many calls
            on each rank.

    Returns:
        Samples, medians with intervals and peaks, and in ``environment`` what was controlled and what was found.

    Raises:
        ValueError: there is no candidate, one cannot be called, ``flat`` is no list or tuple, or a number is too small.
    """
    _check(candidates, flat, rounds, warmup, confidence, threads)
    device = next((value.device for value in flat if isinstance(value, torch.Tensor) and value.is_cuda), torch.device("cpu"))
    calls = {name: _bound(candidate, clone_inputs(flat)) for name, candidate in candidates.items()}
    with kept_random_state(), calm(), _threads(threads):
        for call in calls.values():
            torch.manual_seed(seed)
            for _ in range(warmup):
                call()
        repeats = {name: most(_repeats(call, device, min_sample_ms), together) for name, call in calls.items()}
        with _no_garbage_collection():
            samples = _rounds(calls, repeats, rounds, seed, device)
        peaks = {name: peak_bytes(call, device) for name, call in calls.items()}
        environment = _environment(device, rounds, warmup, repeats)
    return Timings(tuple(_timing(name, samples[name], peaks[name], confidence) for name in calls), confidence, environment)


def _rounds(
    calls: Mapping[str, Callable[[], object]], repeats: Mapping[str, int], rounds: int, seed: int, device: torch.device
) -> dict[str, list[float]]:
    """Milliseconds per call, one for each candidate and round."""
    order, shuffle = list(calls), random.Random(seed).shuffle
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            samples[name].append(_time_ms(calls[name], repeats[name], device) / repeats[name])
    return samples


def _time_ms(call: Callable[[], object], repeats: int, device: torch.device) -> float:
    """Milliseconds that ``repeats`` calls took together."""
    if device.type != "cuda":
        start = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        return (time.perf_counter_ns() - start) / 1e6
    with torch.cuda.device(device):
        start_event, end_event = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start_event.record()
        for _ in range(repeats):
            call()
        end_event.record()
        torch.cuda.synchronize()
        return start_event.elapsed_time(end_event)


def _repeats(call: Callable[[], object], device: torch.device, min_sample_ms: float) -> int:
    """How many calls fill a sample; the fastest of some says it best, as only other work can have made the rest slower."""
    fastest = min(_time_ms(call, 1, device) for _ in range(5))
    return max(1, math.ceil(min_sample_ms / max(fastest, 1e-6)))


def _timing(name: str, samples: list[float], peak: int | None, confidence: float) -> Timing:
    low, high = median_interval(samples, confidence)
    return Timing(name, tuple(samples), statistics.median(samples), low, high, peak)


def _environment(device: torch.device, rounds: int, warmup: int, repeats: Mapping[str, int]) -> dict[str, str]:
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine(),
        "timer": "CUDA events" if device.type == "cuda" else "time.perf_counter_ns",
        "threads": str(torch.get_num_threads()),
        "garbage collection": "before the rounds, off inside",
        "rounds": f"{rounds}, order shuffled in each",
        "warm-up": f"{warmup} calls each",
        "calls per sample": ", ".join(f"{name} {repeat}" for name, repeat in repeats.items()),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def _bound(candidate: Callable[..., Any], inputs: Sequence[object]) -> Callable[[], object]:
    return lambda: candidate(*inputs)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check(candidates: object, flat: object, rounds: int, warmup: int, confidence: float, threads: int | None) -> None:
    if not isinstance(candidates, Mapping) or not candidates:
        raise ValueError(f"candidates must map at least one name to a callable, got {candidates!r}")
    for name, candidate in candidates.items():
        if not callable(candidate):
            raise ValueError(f"candidate {name!r} must be callable as f(*flat), got {type(candidate).__name__}")
    if not isinstance(flat, (list, tuple)):
        raise ValueError(f"flat must be a list or tuple with one value per input, got {type(flat).__name__}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    for name, number, least in (
        ("rounds", rounds, min_samples(confidence)),
        ("warmup", warmup, 1),
        ("threads", 1 if threads is None else threads, 1),
    ):
        if number < least:
            raise ValueError(f"{name} must be at least {least}, got {number}")
