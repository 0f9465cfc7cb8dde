"""A small GPT: byte-level, pre-norm, causal."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from hyperviz.models.text import VOCAB_SIZE

ATTENTIONS = ("sdpa", "explicit")


@dataclass(frozen=True, slots=True)
class GPTConfig:
    """The size and the choices of a GPT.

    Attributes:
        num_layers: transformer blocks.
        num_heads: attention heads; divides ``width``.
        width: of the residual stream.
        context: the longest sequence it takes.
        vocab_size: 256 for bytes.
        dropout: after attention and after each block's two halves; 0.0 for none.
        tied: whether the output projection is the token embedding.
        attention: ``"sdpa"`` calls torch's fused operator, ``"explicit"`` writes out matmul, mask, softmax, matmul.

    Raises:
        ValueError: a size below 1, heads that do not divide the width, dropout outside [0, 1), or an unknown attention.
    """

    num_layers: int = 4
    num_heads: int = 4
    width: int = 128
    context: int = 128
    vocab_size: int = VOCAB_SIZE
    dropout: float = 0.0
    tied: bool = True
    attention: str = "sdpa"

    def __post_init__(self) -> None:
        for name in ("num_layers", "num_heads", "width", "context", "vocab_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be ≥ 1, got {getattr(self, name)}")
        if self.width % self.num_heads:
            raise ValueError(f"num_heads must divide width, got {self.num_heads} heads and width {self.width}")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")
        if self.attention not in ATTENTIONS:
            raise ValueError(f"attention must be one of {', '.join(ATTENTIONS)}, got {self.attention!r}")


class GPT(nn.Module):
    """Bytes in, for each the logits of the next one."""

    def __init__(self, config: GPTConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or GPTConfig()
        self.token = nn.Embedding(config.vocab_size, config.width)
        self.position = nn.Embedding(config.context, config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocab_size, bias=False)
        if config.tied:
            self.head.weight = self.token.weight
        self.apply(_initialise)
        for block in self.blocks:
            _shrink(block, config.num_layers)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of shape ``[batch, length, vocab_size]`` for tokens of shape ``[batch, length]``."""
        length = tokens.shape[1]
        if length > self.config.context:
            raise ValueError(f"tokens must be at most {self.config.context} long, got {length}")
        positions = torch.arange(length, device=tokens.device)
        x = self.dropout(self.token(tokens) + self.position(positions))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Block(nn.Module):
    """Attention, then a feed-forward network, each on a normalised copy and added to the residual stream."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(config.width)
        self.attention = CausalAttention(config)
        self.norm_2 = nn.LayerNorm(config.width)
        self.mlp = FeedForward(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Adds what attention and the feed-forward network say."""
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class CausalAttention(nn.Module):
    """Each position reads those up to itself."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.explicit = config.attention == "explicit"
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.p = config.dropout
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From and to ``[batch, length, width]``."""
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if self.explicit:
            y = explicit_attention(q, k, v, self.dropout)
        else:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0, is_causal=True)
        return self.dropout(self.out(y.transpose(1, 2).flatten(2)))


def explicit_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout: nn.Dropout) -> torch.Tensor:
    """Causal attention of ``[batch, heads, length, width]`` tensors, operator by operator."""
    length = q.shape[-2]
    visible = torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    weights = scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)
    return dropout(weights) @ v


class FeedForward(nn.Module):
    """Two linear maps with a GELU between them."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From and to ``[batch, length, width]``."""
        return self.dropout(self.down(F.gelu(self.up(x))))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def _shrink(block: nn.Module, num_layers: int) -> None:
    """Starts what a block adds small, so that the sum over all blocks keeps its size (as GPT-2 did)."""
    for linear in (block.get_submodule("attention.out"), block.get_submodule("mlp.down")):
        assert isinstance(linear, nn.Linear)
        nn.init.normal_(linear.weight, std=0.02 / (2 * num_layers) ** 0.5)


def gpt_step(model: nn.Module, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The loss of one training step: mean cross-entropy of the next byte, in nats.

    Args:
        model: a ``GPT``, or anything that maps tokens to logits alike.
        tokens: int64 of shape ``[batch, length]``.
        targets: the same shape: what comes after each.
    """
    logits = model(tokens)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
