"""A small GPT sharded over more ranks than any test machine has: captured, sharded, planned and drawn, and never called run."""

import math

import pytest
import torch

import hyperviz as hv
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch
from hyperviz.render import communication

CONFIG = hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*", "*"), inductor_mode="regional")


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return GPT(GPTConfig(num_layers=1, width=48, num_heads=4, context=20))


@pytest.mark.parametrize("size", [8, 64, 1024])
def test_a_world_of_any_size_is_cut_evenly_planned_and_drawn(model, size, tmp_path):
    batch = sample_batch(load_text(), 2, 12, torch.Generator().manual_seed(1))
    sharded = hv.apply_passes(hv.trace(model, gpt_step, batch, world=hv.FakeWorld(size=size, rank=size - 1)), CONFIG)
    whole = dict(model.named_parameters())
    shards = dict(zip(sharded.state_fqns, sharded.example_inputs, strict=False))
    for fqn, parameter in whole.items():
        assert tuple(shards[fqn].shape) == (math.ceil(parameter.shape[0] / size), *parameter.shape[1:])
    plan = hv.plan(sharded, CONFIG)
    for row in communication(plan):
        shard = shards[row.what]
        assert row.collective.num_ranks == size
        assert row.collective.payload_bytes == size * shard.numel() * shard.element_size()
    words = f"fake world of {size:,} ranks: not run"
    assert words in hv.export(plan, tmp_path / "plan.svg").read_text()
    assert words in repr(hv.show(sharded))
