"""Steps that real ranks build, compile, compare and time in the tests."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn

import hyperviz as hv

CONFIG = hv.PassConfig(fsdp_enabled=True, inductor_mode="regional")


def here():
    return dist.get_rank() if dist.is_initialized() else 0


def square(model, x):
    return model(x).square().mean()


def build():
    """One linear layer whose rows no even number of ranks divides; each rank has its own batch."""
    torch.manual_seed(0)
    return nn.Linear(6, 5), square, {"x": torch.randn(4, 6, generator=torch.Generator().manual_seed(here()))}


def build_badly():
    """Right on rank 0 only."""
    return build() if here() == 0 else build()[0]


def build_slowly():
    """Never done."""
    time.sleep(600)
