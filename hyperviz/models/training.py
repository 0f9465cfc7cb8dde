"""A plain training loop: enough to see a small model learn."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from hyperviz.models.gpt import gpt_step
from hyperviz.models.text import load_text, sample_batch

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


def train(
    model: nn.Module,
    steps: int,
    *,
    batch_size: int = 8,
    length: int = 64,
    optimizer: str = "adamw",
    learning_rate: float = 1e-3,
    seed: int = 0,
    train_fn: Callable[..., torch.Tensor] = gpt_step,
    progress: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Trains a model of text in place on the book that ships with the package.

    Args:
        model: trained in place, on the device it is on.
        steps: how many batches it sees.
        batch_size: passages in a batch.
        length: bytes in a passage.
        optimizer: ``"adamw"`` or ``"sgd"``.
        learning_rate: the optimizer's, constant.
        seed: decides which passages are seen.
        train_fn: called as ``train_fn(model, tokens=…, targets=…)``; returns the loss.
        progress: called after each step with its number, from 0, and its loss.

    Returns:
        The loss of each step.

    Raises:
        ValueError: an unknown optimizer, or a negative number of steps.
    """
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, got {optimizer!r}")
    if steps < 0:
        raise ValueError(f"steps must be ≥ 0, got {steps}")
    text, generator = load_text(), torch.Generator().manual_seed(seed)
    device = next(model.parameters()).device
    update = OPTIMIZERS[optimizer](model.parameters(), lr=learning_rate)  # pyright: ignore[reportCallIssue]
    losses: list[float] = []
    for number in range(steps):
        batch = {name: tensor.to(device) for name, tensor in sample_batch(text, batch_size, length, generator).items()}
        loss = train_fn(model, **batch)
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
        if progress is not None:
            progress(number, losses[-1])
    return losses
