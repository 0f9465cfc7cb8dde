"""Draws the README's second picture: one sharded step in time, grouped by runs and by tags alone."""

from pathlib import Path

import torch

import hyperviz as hv
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch

torch.manual_seed(0)
model = GPT(GPTConfig(num_layers=4, width=512, context=256))
inputs = sample_batch(load_text(), batch_size=3, length=256)
runs = hv.PassConfig(
    inductor_mode="regional", fsdp_enabled=True, fsdp_wrap=("blocks.*", "*"), bucket_enabled=True, enable_overlap=True, prefetch_buckets=1
)
merged = runs.replace(region_strategy="merged")
sharded = hv.apply_passes(hv.trace(model, gpt_step, inputs, world=hv.FakeWorld(size=8, rank=0)), runs)
titles = ((runs, "by runs: the order of communication is kept"), (merged, "by tags alone: torch's regional Inductor"))
timelines = [hv.timeline(sharded, config, hardware="h100", title=title) for config, title in titles]
print(*timelines, hv.export(timelines, Path(__file__).with_name("schedule.svg")), sep="\n")
