"""What this CPU can do: measured in half a second, since no vendor's figure holds for the threads that torch uses here."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import torch

from hyperviz.analysis import Hardware

_SIZES = {torch.float32: 512, torch.float64: 384, torch.bfloat16: 256, torch.float16: 256}
_COPY_BYTES = 64 * 2**20
_TRIES = 5


def this_cpu() -> Hardware:
    """This machine as hardware, at the number of threads that torch uses now; measured once for each number.

    The peak rate of a dtype is that of a square matrix product, the memory's that of a copy larger than the caches, the gap that of an
    operator on one element; each the fastest of some tries, since other work can only slow them down. Ranks on one machine share it: no
    figures are given for a link between them.
    """
    return _measured(torch.get_num_threads())


@lru_cache
def _measured(threads: int) -> Hardware:
    with torch.no_grad():
        tflops = {str(dtype).removeprefix("torch."): _tflops(dtype, size) for dtype, size in _SIZES.items()}
        source = torch.ones(_COPY_BYTES // 4)
        target = torch.empty_like(source)
        memory_gbs = 2 * _COPY_BYTES / _fastest_s(lambda: target.copy_(source)) / 1e9
        one = torch.ones(1)
        launch_us = _fastest_s(lambda: [one + one for _ in range(100)]) / 100 * 1e6
    title = f"{cpu_name()}, {threads} thread{'' if threads == 1 else 's'}"
    sources: Mapping[str, str] = dict.fromkeys(("tflops", "memory_gbs", "launch_us"), f"measured here with torch {torch.__version__}")
    return Hardware("cpu", title, tflops, memory_gbs, launch_us, sources=sources, measured=True)


def _tflops(dtype: torch.dtype, size: int) -> float:
    matrix = torch.ones(size, size, dtype=dtype)
    return 2 * size**3 / _fastest_s(lambda: matrix @ matrix) / 1e12


def _fastest_s(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(_TRIES):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def cpu_name() -> str:
    """The processor's name, as its maker writes it where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
