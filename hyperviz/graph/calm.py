"""How a captured graph runs: without autograd and without autocast, since it holds its gradients and its casts already."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """No autograd, and no autocast, on the CPU and on the accelerator if there is one."""
    accelerator = torch.accelerator.current_accelerator()
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        for device in {"cpu", accelerator.type if accelerator is not None else "cpu"}:
            stack.enter_context(torch.autocast(device, enabled=False))
        yield
