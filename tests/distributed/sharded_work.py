"""What ranks do in the tests of a sharded step: functions that are called on every rank and return plain data."""

from __future__ import annotations

import copy
import math
import os
import signal

import torch
import torch.distributed as dist
from torch import fx, nn
from torch.distributed.fsdp import fully_shard

import hyperviz as hv
from hyperviz.measure.peak import peak_bytes
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch
from hyperviz.passes import full_state_dict, load_full_state_dict
from hyperviz.passes.fsdp import shard_plan_of

WRAPPED = hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*", "*"))
GATHER = torch.ops._c10d_functional.all_gather_into_tensor_out.default
WAIT = torch.ops._c10d_functional.wait_tensor.default
FREE = torch.ops.inductor.resize_storage_bytes_.default


class Primes(nn.Module):
    """Sizes that divide by nothing, a scalar, a frozen layer, a tied one, an unused one, and one less than the world is large."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(7, 13)
        self.frozen = nn.Linear(13, 13)
        self.frozen.requires_grad_(False)
        self.second = nn.Linear(13, 13, bias=False)
        self.third = nn.Linear(13, 13, bias=False)
        self.third.weight = self.second.weight
        self.last = nn.Linear(13, 1)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, x):
        x = torch.tanh(self.frozen(self.first(x)))
        return self.last(torch.tanh(self.third(torch.relu(self.second(x))))) * self.scale


def fit(model, x, y):
    return (model(x) - y).square().mean()


def gpt(num_layers=2, width=16):
    torch.manual_seed(0)
    return GPT(GPTConfig(num_layers=num_layers, width=width, num_heads=2, context=16))


def primes():
    torch.manual_seed(0)
    return Primes()


def text(steps):
    generator = torch.Generator().manual_seed(1)
    return [sample_batch(load_text(), 2 * dist.get_world_size(), 12, generator) for _ in range(steps)]


def numbers(steps):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(steps, 3 * dist.get_world_size(), 7, generator=generator)
    return [{"x": one, "y": one.sum(1, keepdim=True)} for one in x]


def my_part(batch, ranks=None):
    ranks = ranks or range(dist.get_world_size())
    return {name: tensor.chunk(len(ranks))[list(ranks).index(dist.get_rank())].contiguous() for name, tensor in batch.items()}


def mean_over_ranks(loss):
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


def train_sharded(model, train_fn, batches, config, part=my_part):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    joint = hv.trace(model, train_fn, part(batches[0]))
    sharded = hv.apply_passes(joint, config, model=model)
    losses = []
    for batch in batches:
        loss, *gradients = sharded.run(*sharded.flat_inputs(model, part(batch)))
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
        losses.append(mean_over_ranks(loss))
    return losses, sharded


def train_plainly(model, train_fn, batches, part=lambda batch: batch):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for batch in batches:
        loss = train_fn(model, **part(batch))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(mean_over_ranks(loss))
    return losses


def train_three_ways(steps=20):
    """The demo GPT: ours, torch's ``fully_shard``, and one process on the whole batch; and the state dict on the way."""
    mine, theirs, alone = gpt(), gpt(), gpt()
    batches = text(steps)
    losses, sharded = train_sharded(mine, gpt_step, batches, WRAPPED)
    for block in theirs.blocks:
        fully_shard(block)
    fully_shard(theirs)
    whole = full_state_dict(mine, sharded)
    result = {
        "ours": losses,
        "fully_shard": train_plainly(theirs, gpt_step, batches, my_part),
        "alone": train_plainly(alone, gpt_step, batches),
        "state is alone's": all(torch.allclose(tensor, whole[key], atol=1e-4) for key, tensor in alone.state_dict().items()),
        "state has all keys": list(whole) == list(alone.state_dict()),
    }
    load_full_state_dict(mine, sharded, alone.state_dict())
    again = full_state_dict(mine, sharded)
    result["state comes back"] = all(torch.equal(tensor, again[key]) for key, tensor in alone.state_dict().items())
    result["shards are smaller"] = sum(p.numel() for p in mine.parameters()) < 0.51 * sum(p.numel() for p in alone.parameters())
    return result


def train_primes(steps=20):
    """Awkward sizes, all sharded, partly replicated, and gathered once only; against one process on the whole batch."""
    batches = numbers(steps)
    configs = {
        "one unit": WRAPPED.replace(fsdp_wrap=()),
        "units and replicas": WRAPPED.replace(fsdp_wrap=("first", "second")),
        "kept": WRAPPED.replace(fsdp_wrap=("*",), reshard_after_forward=False),
    }
    result = {name: train_sharded(primes(), fit, batches, config)[0] for name, config in configs.items()}
    result["alone"] = train_plainly(primes(), fit, batches)
    return result


class Watch(fx.Interpreter):
    """Runs a graph and notes how many gathered bytes are alive when the backward begins, and at most before."""

    def __init__(self, graph_module):
        super().__init__(graph_module)
        self.gathered, self.most, self.middle = [], 0, None

    def run_node(self, node):
        if node.meta.get("phase") == "backward" and self.middle is None:
            self.middle = self.alive()
        result = super().run_node(node)
        if node.target is WAIT and node.args[0].target is GATHER:
            self.gathered.append(result.untyped_storage())
        self.most = max(self.most, self.alive()) if self.middle is None else self.most
        return result

    def alive(self):
        return sum(storage.nbytes() for storage in self.gathered)


def watch_memory():
    """Gathered bytes in the middle of the step, and the peak of the whole, with and without resharding."""
    batch, result = my_part(text(1)[0]), {}
    for name, reshard in (("resharded", True), ("kept", False)):
        model = gpt(num_layers=6, width=64)
        config = WRAPPED.replace(reshard_after_forward=reshard)
        sharded = hv.apply_passes(hv.trace(model, gpt_step, batch), config, model=model)
        flat = sharded.flat_inputs(model, batch)
        watch = Watch(sharded.graph_module)
        with torch.no_grad():
            watch.run(*flat)
        sharded.run(*flat)
        plan = shard_plan_of(sharded)
        whole = sum(4 * math.prod(plan.layouts[fqn].gathered_shape) for fqn in plan.kept)
        peak = peak_bytes(lambda: sharded.run(*flat), torch.device("cpu"))  # noqa: B023
        result[name] = {"most": watch.most, "middle": watch.middle, "whole": whole, "peak": peak}
    return result


def eager_order(graph_module):
    targets = ("_c10d_functional.", "inductor.")
    return [node.name for node in graph_module.graph.nodes if str(node.target).startswith(targets)]


def compile_each_mode():
    """Verdicts of off, regional and full, and whether regional kept the order."""
    model, batch, config = primes(), my_part(numbers(1)[0]), WRAPPED.replace(fsdp_wrap=("*",))
    whole, alone = primes(), hv.trace(model, fit, batch)
    sharded = hv.apply_passes(alone, config, model=model)
    flat, result = sharded.flat_inputs(model, batch), {}
    for mode in ("off", "regional", "full"):
        compiled = hv.compile(sharded, config.replace(inductor_mode=mode))
        equality = hv.compare(sharded, compiled, flat)
        result[mode] = {
            "verdict": equality.verdict,
            "verdict alone": hv.compare(
                alone, hv.compile(alone, hv.PassConfig(inductor_mode=mode)), alone.flat_inputs(whole, batch)
            ).verdict,
            "same order": eager_order(compiled.graph_module) == eager_order(sharded.graph_module),
            "regions": len(compiled.plan.regions),
        }
        if mode == "regional":
            timings = hv.benchmark({"eager": sharded, "regional": compiled}, flat, rounds=6, warmup=1)
            result["timed"] = [timing.name for timing in timings.timings]
    return result


def disagree():
    """Each rank wraps another module."""
    joint = hv.trace(primes(), fit, my_part(numbers(1)[0]))
    model = primes()
    before = copy.deepcopy(model.state_dict())
    try:
        hv.apply_passes(joint, WRAPPED.replace(fsdp_wrap=("first", "second")[dist.get_rank()]), model=model)
    except ValueError as error:
        untouched = all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())
        return str(error), untouched
    return "no error", False


def shard_in_pairs(steps=20):
    """Four ranks: two replicas of two shards; and two pairs that know nothing of each other."""
    batches = numbers(steps)
    hybrid = WRAPPED.replace(fsdp_wrap=("*",), fsdp_degree=2)
    losses, sharded = train_sharded(primes(), fit, batches, hybrid)
    again = hv.apply_passes(hv.trace(primes(), fit, my_part(batches[0])), hybrid)
    result = {"hybrid": losses, "groups are made once": shard_plan_of(again).group == shard_plan_of(sharded).group}
    result["four"] = train_sharded(primes(), fit, batches, WRAPPED.replace(fsdp_wrap=("*",)))[0]
    result["alone"] = train_plainly(primes(), fit, batches)
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    mine = pairs[dist.get_rank() // 2]
    ranks = dist.get_process_group_ranks(mine)
    half = [{name: tensor.chunk(2)[dist.get_rank() // 2] for name, tensor in batch.items()} for batch in batches]
    config = WRAPPED.replace(fsdp_wrap=("first", "frozen", "second", "last"), fsdp_group=mine.group_name)
    result["pairs"] = train_sharded(primes(), fit, half, config, lambda batch: my_part(batch, ranks))[0]
    result["pairs alone"] = train_plainly(primes(), fit, half)
    return result


class Gathers(nn.Module):
    """Thirty gathers in flight before the first is waited for."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(torch.full((1000,), float(index)) for index in range(30))

    def forward(self, x):
        name, size = dist.group.WORLD.group_name, dist.get_world_size()
        launches = [torch.ops._c10d_functional.all_gather_into_tensor(weight.detach() * x, size, name) for weight in self.weights]
        wholes = [torch.ops._c10d_functional.wait_tensor(launch) for launch in launches]
        return sum(whole.mean() * weight.mean() for whole, weight in zip(wholes, self.weights, strict=True))


def fly_thirty_gathers(times=50):
    """A captured graph that would crash on gloo, run many times."""
    model = Gathers()
    inputs = {"x": torch.tensor(float(dist.get_rank() + 1))}
    joint = hv.trace(model, lambda model, x: model(x), inputs)
    flat = joint.flat_inputs(model, inputs)
    losses = {joint.run(*flat)[0].item() for _ in range(times)}
    return list(joint.notes), losses


class Dies(fx.Interpreter):
    """Runs a graph up to the first node of the backward, and there rank 1 is killed."""

    def run_node(self, node):
        if node.meta.get("phase") == "backward" and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run_node(node)


def die_in_the_middle():
    """A step that one rank does not survive; the other waits for its gathers."""
    model, batch = gpt(num_layers=1), my_part(text(1)[0])
    sharded = hv.apply_passes(hv.trace(model, gpt_step, batch), WRAPPED, model=model)
    with torch.no_grad():
        Dies(sharded.graph_module).run(*sharded.flat_inputs(model, batch))
