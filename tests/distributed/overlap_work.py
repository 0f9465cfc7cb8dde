"""What ranks do in the tests of buckets and overlap: functions that are called on every rank and return plain data."""

from __future__ import annotations

import math

import torch
import torch.distributed as dist
from sharded_work import WRAPPED, Watch, eager_order, fit, gpt, my_part, numbers, primes, text, train_plainly, train_sharded
from torch.distributed.fsdp import fully_shard

import hyperviz as hv
from hyperviz.models import gpt_step
from hyperviz.passes.agreement import steps_of
from hyperviz.passes.fsdp import shard_plan_of

BUCKETS = WRAPPED.replace(bucket_enabled=True)
OVERLAPPED = BUCKETS.replace(enable_overlap=True, prefetch_buckets=2)
VARIANTS = {
    "buckets": BUCKETS,
    "small buckets": BUCKETS.replace(bucket_bytes=700),
    "gathered once": BUCKETS.replace(reshard_after_forward=False),
    "partly replicated": BUCKETS.replace(fsdp_wrap=("blocks.0",)),
    "overlapped": OVERLAPPED,
    "overlapped without buckets": OVERLAPPED.replace(bucket_enabled=False),
    "overlapped within a limit": OVERLAPPED.replace(max_bytes_in_flight=30_000),
}


def one_step(joint, model, batch, config):
    sharded = hv.apply_passes(joint, config, model=model)
    return sharded.run(*sharded.flat_inputs(model, batch)), sharded


def same(first, second):
    return all(
        (one is None and other is None) or (one.shape == other.shape and torch.equal(one, other))
        for one, other in zip(first, second, strict=True)
    )


def order_of(sharded):
    return [(step.what, step.node) for step in steps_of(sharded.graph_module.graph)]


def everywhere(mine):
    """Whether every rank has the same."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    return all(other == mine for other in found)


def return_the_same():
    """Loss and gradients of one step, bit for bit those without buckets and overlap; and whether all ranks communicate alike."""
    batch, plain, result = my_part(text(1)[0]), {}, {}
    joint = hv.trace(gpt(), gpt_step, batch)
    for name, config in VARIANTS.items():
        without = (config.fsdp_wrap, config.reshard_after_forward)
        if without not in plain:
            plain[without], _ = one_step(joint, gpt(), batch, WRAPPED.replace(fsdp_wrap=without[0], reshard_after_forward=without[1]))
        mine, sharded = one_step(joint, gpt(), batch, config)
        result[name] = (same(plain[without], mine), everywhere(order_of(sharded)))
    return result


def train_alike(steps=20):
    """The demo GPT with buckets and overlap, without, and by torch's ``fully_shard``."""
    batches, theirs = text(steps), gpt()
    losses, sharded = train_sharded(gpt(), gpt_step, batches, OVERLAPPED)
    for block in theirs.blocks:
        fully_shard(block)
    fully_shard(theirs)
    return {
        "overlapped": losses,
        "plain": train_sharded(gpt(), gpt_step, batches, WRAPPED)[0],
        "fully_shard": train_plainly(theirs, gpt_step, batches, my_part),
        "moves": len(sharded.graph_module.meta["overlap"].moves),
    }


def watch_memory():
    """Bytes of whole parameters, gathered or copied out of a bucket, when the backward begins, and at most before."""
    batch, result = my_part(text(1)[0]), {}
    joint = hv.trace(gpt(num_layers=6, width=64), gpt_step, batch)
    for name, reshard in (("resharded", True), ("kept", False)):
        model = gpt(num_layers=6, width=64)
        config = BUCKETS.replace(reshard_after_forward=reshard, enable_overlap=True)
        sharded = hv.apply_passes(joint, config, model=model)
        watch = WatchBuckets(sharded.graph_module)
        with torch.no_grad():
            watch.run(*sharded.flat_inputs(model, batch))
        plan = shard_plan_of(sharded)
        whole = sum(4 * math.prod(plan.layouts[fqn].gathered_shape) for fqn in plan.kept)
        result[name] = {"most": watch.most, "middle": watch.middle, "whole": whole}
    return result


class WatchBuckets(Watch):
    """Counts the buckets, and the parameters that were copied out of them."""

    def run_node(self, node):
        if "fsdp_unit" in node.meta:  # a gather issued ahead does not begin the backward
            node.meta["phase"] = "forward"
        result = super().run_node(node)
        if node.target is torch.ops.aten.clone.default and "gather" in node.meta.get("bucket", ""):
            self.gathered.append(result.untyped_storage())
        return result


def compile_regions():
    """Whether a regional compile keeps the order of everything that communicates or frees, and the numbers."""
    model, batch, config = primes(), my_part(numbers(1)[0]), OVERLAPPED.replace(fsdp_wrap=("*",), inductor_mode="regional")
    sharded = hv.apply_passes(hv.trace(model, fit, batch), config, model=model)
    compiled = hv.compile(sharded, config)
    equality = hv.compare(sharded, compiled, sharded.flat_inputs(model, batch))
    return {
        "verdict": equality.verdict,
        "order": eager_order(compiled.graph_module) == eager_order(sharded.graph_module),
        "regions": len(compiled.plan.regions),
    }


def on_two():
    """All of it in one start of the ranks."""
    return {"same": return_the_same(), "trained": train_alike(), "memory": watch_memory(), "compiled": compile_regions()}


def on_four():
    """Four ranks, also as two replicas of two shards: awkward sizes train to the losses of one process."""
    batches = numbers(20)
    hybrid = OVERLAPPED.replace(fsdp_wrap=("*",), fsdp_degree=2)
    losses, sharded = train_sharded(primes(), fit, batches, hybrid)
    four, overlapped = train_sharded(primes(), fit, batches, hybrid.replace(fsdp_degree=None))
    return {
        "hybrid": losses,
        "four": four,
        "alone": train_plainly(primes(), fit, batches),
        "alike": [everywhere(order_of(one)) for one in (sharded, overlapped)],
    }
