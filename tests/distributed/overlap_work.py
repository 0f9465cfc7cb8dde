"""What ranks do in the tests of buckets and overlap: functions that are called on every rank and return plain data."""

from __future__ import annotations

import torch
from sharded_work import WRAPPED, fit, gpt, my_part, numbers, primes, text, train_sharded

import hyperviz as hv
from hyperviz.models import gpt_step

BUCKETS = {
    "one for each module": WRAPPED.replace(bucket_enabled=True),
    "of some hundred bytes": WRAPPED.replace(bucket_enabled=True, bucket_bytes=700),
    "gathered once": WRAPPED.replace(bucket_enabled=True, reshard_after_forward=False),
    "partly replicated": WRAPPED.replace(bucket_enabled=True, fsdp_wrap=("blocks.0",)),
}


def gradients(model, train_fn, batch, config):
    sharded = hv.apply_passes(hv.trace(model, train_fn, batch), config, model=model)
    return sharded.run(*sharded.flat_inputs(model, batch)), sharded


def same(first, second):
    return all(
        (one is None and other is None) or (one.shape == other.shape and torch.equal(one, other))
        for one, other in zip(first, second, strict=True)
    )


def bucket_alike():
    """Loss and gradients with buckets, against those without; and awkward sizes."""
    batch, result = my_part(text(1)[0]), {}
    for name, config in BUCKETS.items():
        alone, _ = gradients(gpt(), gpt_step, batch, config.replace(bucket_enabled=False))
        merged, sharded = gradients(gpt(), gpt_step, batch, config)
        result[name] = (same(alone, merged), len(sharded.graph_module.meta["buckets"].buckets))
    batches = numbers(4)
    for wrap in (("",), ("*",)):
        config = WRAPPED.replace(fsdp_wrap=wrap)
        losses = [train_sharded(primes(), fit, batches, one)[0] for one in (config, config.replace(bucket_enabled=True))]
        result[f"primes, {wrap}"] = (losses[0] == losses[1], 1)
    return result
