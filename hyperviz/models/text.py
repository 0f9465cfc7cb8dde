"""Real text as bytes, and batches of it: *Alice's Adventures in Wonderland*, which is in the public domain (see ``alice.md``)."""

from __future__ import annotations

from importlib import resources

import torch

VOCAB_SIZE = 256


def load_text() -> torch.Tensor:
    """The whole book, one byte a token.

    Returns:
        int64 of shape ``[about 148,000]``, each from 0 to 255.
    """
    raw = resources.files("hyperviz.models").joinpath("alice.txt").read_bytes()
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8).long()


def decode(tokens: torch.Tensor) -> str:
    """Tokens as text; bytes that are no UTF-8 are shown as replacement characters."""
    return bytes(tokens.flatten().tolist()).decode("utf-8", errors="replace")


def sample_batch(text: torch.Tensor, batch_size: int, length: int, generator: torch.Generator | None = None) -> dict[str, torch.Tensor]:
    """Takes passages at random, each with the same passage one byte further as what is to be predicted.

    Args:
        text: tokens, as ``load_text`` returns them.
        batch_size: how many passages.
        length: tokens in each.
        generator: where the positions come from; torch's own where left out.

    Returns:
        ``tokens`` and ``targets``, both int64 of shape ``[batch_size, length]``: the inputs of ``gpt_step``.

    Raises:
        ValueError: no passage, or one longer than the text.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be ≥ 1, got {batch_size}")
    if not 1 <= length < len(text):
        raise ValueError(f"length must be from 1 to {len(text) - 1}, one less than the text, got {length}")
    starts = torch.randint(len(text) - length, (batch_size, 1), generator=generator)
    passages = text[starts + torch.arange(length + 1)]
    return {"tokens": passages[:, :-1].contiguous(), "targets": passages[:, 1:].contiguous()}
