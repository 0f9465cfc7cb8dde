"""What the tests of measured timelines let ranks do."""

import torch

import hyperviz as hv
from hyperviz.models import GPT, GPTConfig


def next_byte(model, tokens):
    return torch.nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def measured():
    """A sharded step: its timeline as measured here, and as estimated for this machine over the link that it has."""
    torch.manual_seed(0)
    model, inputs = GPT(GPTConfig(num_layers=1, num_heads=2, width=32, context=16)), {"tokens": torch.randint(0, 256, (2, 16))}
    config = hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*",))
    sharded = hv.apply_passes(hv.trace(model, next_byte, inputs), config, model=model)
    flat = sharded.flat_inputs(model, inputs)
    return hv.timeline(sharded, flat=flat, rounds=2), hv.timeline(sharded, hardware="cpu")
