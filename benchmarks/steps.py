"""The training step that every benchmark measures."""

import torch

import hyperviz as hv
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch


def traced_gpt(layers: int) -> hv.JointGraph:
    """The joint graph of a byte-level GPT on eight passages of 64 bytes."""
    torch.manual_seed(0)
    return hv.trace(GPT(GPTConfig(num_layers=layers)), gpt_step, sample_batch(load_text(), 8, 64))
