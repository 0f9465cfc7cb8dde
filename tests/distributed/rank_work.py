"""What the tests let ranks do."""

import functools
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist

from hyperviz.distributed import current_link, current_rank, launch


@dataclass
class Finding:
    rank: int
    total: torch.Tensor


class BadBatchError(Exception):
    pass


def look_around(scale):
    """Everything that a launch promises to a function, in one report."""
    here = current_rank()
    total = torch.full((3,), float(here.rank + 1))
    dist.all_reduce(total)
    print(f"rank {here.rank} computed\nunfinished line", end="")
    print("a complaint", file=sys.stderr)
    weight = torch.arange(6.0)
    try:
        launch(time.sleep, args=(0,))
        refusal = ""
    except ValueError as error:
        refusal = str(error)
    return {
        "finding": Finding(here.rank, total * scale),
        "here": here,
        "threads": torch.get_num_threads(),
        "link": current_link(),
        "big": torch.full((5_000_000,), float(here.rank)),
        "tied": [weight, weight.view(2, 3)],
        "stdin": sys.stdin.read(),
        "nested": refusal,
    }


def raise_on(rank):
    """One rank raises, while the others wait for it; it has also started something that would run on."""
    if dist.get_rank() == rank:
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        raise BadBatchError(f"rank {rank} got an empty batch")
    dist.all_reduce(torch.ones(3))


def die_on(rank, number):
    """One rank is ended by a signal in the middle of a step."""
    for _ in range(3):
        dist.all_reduce(torch.ones(3))
    if dist.get_rank() == rank:
        os.kill(os.getpid(), number)
    dist.all_reduce(torch.ones(3))


def stay_away(rank):
    """One rank never comes to the second collective; it does not even listen to SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    dist.all_reduce(torch.ones(3))
    while dist.get_rank() == rank:
        time.sleep(0.1)
    total = torch.ops._c10d_functional.all_reduce(torch.ones(8, 2), "sum", dist.group.WORLD.group_name)
    torch.ops._c10d_functional.wait_tensor(total)


def touch_and_sleep(path):
    with open(path, "w"):
        pass
    time.sleep(600)


def return_a_generator():
    return (i for i in range(3))


def measure_link():
    """Every collective over the link and on bare gloo beside it: how long each took at least, and whether the bits are the same."""
    functional, size, link = torch.ops._c10d_functional, dist.get_world_size(), current_link()
    over, bare = dist.group.WORLD, dist.new_group(backend="gloo")
    generator = torch.Generator().manual_seed(dist.get_rank())
    values = torch.randn(64 * size, generator=generator)

    def functional_op(name, *arguments, **options):
        def run(group):
            result = getattr(functional, name)(*arguments, group.group_name, **{k: make() for k, make in options.items()})
            done = [functional.wait_tensor(r) for r in (result if isinstance(result, list) else [result])]
            return torch.cat(done)

        return run

    def plain_op(name, make_output, *arguments):
        def run(group):
            output = make_output()
            work = getattr(dist, name)(output, *arguments, group=group, async_op=True)
            work.wait()
            assert group is bare or work.is_completed()
            return output if isinstance(output, torch.Tensor) else torch.cat(output)

        return run

    shard = values[:64].clone()
    shards = [values[64 * i : 64 * (i + 1)].clone() for i in range(size)]
    blank = functools.partial(torch.zeros, 64 * size)
    # What a ring sends for it, in arrays of 64 * size floats.
    share = (size - 1) / size
    collectives = {
        "all_reduce": (2 * share, functional_op("all_reduce", values, "sum")),
        "all_reduce_coalesced": (4 * share, functional_op("all_reduce_coalesced", [values, values + 1], "sum")),
        "all_gather_into_tensor": (share, functional_op("all_gather_into_tensor", shard, size)),
        "all_gather_into_tensor_out": (share, functional_op("all_gather_into_tensor_out", shard, size, out=blank)),
        "all_gather_into_tensor_coalesced": (2 * share, functional_op("all_gather_into_tensor_coalesced", [shard, shard + 1], size)),
        "reduce_scatter_tensor": (share, functional_op("reduce_scatter_tensor", values, "avg", size)),
        "reduce_scatter_tensor_coalesced": (2 * share, functional_op("reduce_scatter_tensor_coalesced", [values, values], "sum", size)),
        "all_to_all_single": (share, functional_op("all_to_all_single", values, [64] * size, [64] * size)),
        "broadcast": (1, functional_op("broadcast", values, 0)),
        "dist.all_reduce": (2 * share, plain_op("all_reduce", values.clone)),
        "dist.all_gather": (share, plain_op("all_gather", lambda: [torch.zeros(64) for _ in range(size)], shard)),
        "dist.reduce_scatter": (share, plain_op("reduce_scatter", lambda: torch.zeros(64), shards)),
        "dist.broadcast": (1, plain_op("broadcast", values.clone, 0)),
    }
    found = {}
    for name, (arrays, run) in collectives.items():
        start = time.monotonic()
        result = run(over)
        took = time.monotonic() - start
        found[name] = (took, link.seconds(arrays * values.nbytes), torch.equal(result.view(torch.int32), run(bare).view(torch.int32)))
    return found


def queue_up(num):
    """Several collectives launched at once: when each was complete, what a wait costs, and whether one completes that nobody waits for."""
    functional, group = torch.ops._c10d_functional, dist.group.WORLD.group_name
    dist.barrier()
    start = time.monotonic()
    flying = [functional.all_reduce(torch.full((1000,), float(i)), "sum", group) for i in range(num)]
    launched = time.monotonic() - start
    done = [(functional.wait_tensor(one)[0].item(), time.monotonic() - start) for one in flying]

    cpu, wall = time.process_time(), time.monotonic()
    functional.wait_tensor(functional.all_reduce(torch.ones(1000), "sum", group))
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall

    work = dist.all_reduce(torch.ones(1000), async_op=True)
    early = work.is_completed()
    until = time.monotonic() + 60  # the other ranks may be late
    while not work.is_completed() and time.monotonic() < until:
        torch.ones(100).sum()
    return {"launched": launched, "done": done, "cpu": cpu, "wall": wall, "early": early, "late": work.is_completed()}


def train_with_ddp():
    """A step of torch's own data parallelism, which asks works for futures."""
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 3))
    model(torch.full((2, 3), float(dist.get_rank()))).sum().backward()
    return model.module.weight.grad


def use_a_part_of_the_world():
    """A group of the first two ranks has a link of its own; None elsewhere."""
    part = dist.new_group([0, 1])
    if dist.get_rank() > 1:
        return None
    start = time.monotonic()
    total = torch.ops._c10d_functional.all_reduce(torch.ones(1000), "sum", part.group_name)
    return torch.ops._c10d_functional.wait_tensor(total)[0].item(), time.monotonic() - start


def over_a_link():
    return {
        "part": use_a_part_of_the_world(),
        "ops": measure_link(),
        "queue": queue_up(5),
        "ddp": train_with_ddp(),
        "link": current_link(),
        "here": current_rank(),
    }


def many_gathers(times):
    """Thirty gathers in flight, again and again, in the form that gloo bears."""
    functional, group, size = torch.ops._c10d_functional, dist.group.WORLD.group_name, dist.get_world_size()
    for _ in range(times):
        shards = [torch.full((257,), float(i)) for i in range(30)]
        flying = [functional.all_gather_into_tensor_out(s, size, group, out=torch.empty(257 * size)) for s in shards]
        assert all(bool((functional.wait_tensor(one) == i).all()) for i, one in enumerate(flying))
    return times
