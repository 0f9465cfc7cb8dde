"""The most memory that a call holds at once, above what was held before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._C._profiler import _ExperimentalConfig


def peak_bytes(call: Callable[[], object], device: torch.device) -> int | None:
    """Runs ``call`` once and follows the allocator.

    On CUDA it is the device's own peak counter. On the CPU every allocation and release of torch's allocator in this thread is taken
    down, exact to the byte and for compiled kernels too, since their buffers come from the same place; a kernel's scratch space on its
    own stack or heap does not. What ``call`` returns counts, as it is alive when the call ends.

    Args:
        call: is to have run before: what it compiles or caches on its first run would count.
        device: where its tensors are.

    Returns:
        Bytes; None on another kind of device, and on the CPU while another profiler runs.
    """
    if device.type == "cuda":
        return _on_cuda(call, device)
    return _on_cpu(call) if device.type == "cpu" else None


def _on_cuda(call: Callable[[], object], device: torch.device) -> int:
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    call()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before


def _on_cpu(call: Callable[[], object]) -> int | None:
    events = record_allocations(call)
    if events is None:
        return None
    held = peak = 0
    for event in events:
        if event.kind() == "memory_alloc":
            held += event.cpu_memory_usage()
            peak = max(peak, held)
    return peak


def record_allocations(call: Callable[[], object]) -> list[Any] | None:
    """Runs ``call`` once and takes down what torch's allocator on the CPU and ``record_function`` blocks did, in order.

    Returns:
        The profiler's events, kind ``"memory_alloc"`` among them; None while another profiler runs, and where torch lacks this one.
    """
    # The Kineto profiler says the same, and writes two lines to the terminal for every run of it.
    autograd: Any = torch.autograd
    if autograd._profiler_enabled() or not hasattr(autograd, "_enable_profiler_legacy"):
        return None
    autograd._enable_profiler_legacy(
        autograd.ProfilerConfig(autograd.ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig())
    )
    try:
        result = call()  # held until the end
    finally:
        records = autograd._disable_profiler_legacy()
    del result
    return [event for thread in records for event in thread]
