"""``hyperviz demo``: the main job without a notebook. Train, take the step apart, compile it in each mode, check, time, write it down."""

from __future__ import annotations

import argparse

import torch

import hyperviz as hv
from hyperviz.cli.lab import NOTEBOOKS
from hyperviz.cli.report import write_report
from hyperviz.cli.study import study
from hyperviz.cli.table import table
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch, train

BATCH, LENGTH = 8, 64


def demo(options: argparse.Namespace) -> int:
    """Trains a byte-level GPT for some steps, then studies its next step and writes ``report.html`` and the files beside it.

    Args:
        options: ``layers``, ``steps``, ``rounds`` (timed ones), ``seed``, and ``out``, the folder to write.

    Returns:
        0.

    Raises:
        OSError: if the folder cannot be made or written.
        RegionCompileError: if a region does not compile.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    model = _trained(options.layers, options.steps, options.seed)
    inputs = sample_batch(load_text(), BATCH, LENGTH, torch.Generator().manual_seed(options.seed + 1))
    joint = hv.trace(model, gpt_step, inputs)
    print(f"one step taken apart: {len(hv.plan(joint).graph)} nodes, loss and {len(joint.output_names) - 1} gradients", flush=True)
    found = study(joint, joint.flat_inputs(model, inputs), options.rounds)
    print("", table(found), "", sep="\n", flush=True)
    command = f"hyperviz demo --layers {options.layers} --steps {options.steps} --rounds {options.rounds} --seed {options.seed}"
    files = write_report(found, options.out, command)
    print(f"report:    {files[0]}\nbeside it: {', '.join(file.name for file in files[1:])}\nnotebooks: hyperviz lab   ({NOTEBOOKS})")
    return 0


def _trained(layers: int, steps: int, seed: int) -> GPT:
    torch.manual_seed(seed)
    model = GPT(GPTConfig(num_layers=layers))
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"training a {layers}-layer byte-level GPT ({size:,} parameters) for {steps} steps on Alice in Wonderland ...", flush=True)
    losses = train(model, steps, batch_size=BATCH, length=LENGTH, seed=seed)
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f} nats a byte", flush=True)
    return model
