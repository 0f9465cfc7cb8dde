"""Draws the README's picture: one training step of a one-block GPT, its normalisations kept eager."""

from pathlib import Path

import torch

import hyperviz as hv
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch

torch.manual_seed(0)
model = GPT(GPTConfig(num_layers=1))
joint = hv.trace(model, gpt_step, sample_batch(load_text(), batch_size=8, length=64))
norms_eager = hv.PassConfig(inductor_mode="regional", keep_eager=("aten.native_layer_norm", "aten.native_layer_norm_backward"))
print(hv.plan(joint, norms_eager), "→", hv.export(hv.plan(joint, norms_eager), Path(__file__).with_name("first_light.svg")))
