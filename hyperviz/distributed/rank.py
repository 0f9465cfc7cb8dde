"""What one rank runs: take the function, join the others, call it, leave the result."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed as dist

from hyperviz.distributed import flights, freight
from hyperviz.distributed.job import Job
from hyperviz.distributed.reports import RAISED, UNPICKLABLE, RankReport
from hyperviz.distributed.watch import Watch, below_launcher
from hyperviz.distributed.world import process_group


def main(where: str) -> None:
    """Runs the job in the folder ``where`` as the rank that the environment names."""
    folder = Path(where)
    rank, job = int(os.environ["RANK"]), Job.read(folder)
    watch = Watch(folder, rank)
    watch.allow(job.start_s)
    faulthandler.enable(all_threads=False)
    with reporting(folder, rank):
        fn, args, link = freight.load(folder / "call")
        with process_group(link=link, timeout_s=job.timeout_s + 60, num_threads=job.num_threads) as here:
            watch.allow(job.timeout_s)
            (folder / f"joined-{rank}").touch()
            with reporting(folder, rank):  # before the group is left, which may wait for ranks that wait for this one
                result = fn(*args)
            with reporting(folder, rank, UNPICKLABLE):
                freight.save(folder / f"result-{rank}", result)
            _wait_for_the_others(here.num_ranks)
    leave(0)


@contextmanager
def reporting(folder: Path, rank: int, state: str = RAISED) -> Iterator[None]:
    """Whatever is raised inside is written down, and ends this rank: the launcher then ends the others."""
    try:
        yield
    except BaseException as error:
        (in_flight, last) = flights.collectives() or ((), "")
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
        report = RankReport(
            rank,
            state,
            traceback=_own_traceback(error),
            exception_type=name,
            exception_message=str(error),
            in_flight=in_flight,
            last_collective=last,
            moment=time.monotonic(),
        )
        freight.save_if_possible(folder / f"exception-{rank}", error)
        report.write(folder)
        leave(1)


def _own_traceback(error: BaseException) -> str:
    told = traceback.TracebackException.from_exception(error)
    told.stack = traceback.StackSummary.from_list(below_launcher(list(told.stack)))
    return "".join(told.format())


def _wait_for_the_others(num_ranks: int) -> None:
    """Keeps this rank's connections until no other rank can still need them."""
    store: Any = dist.distributed_c10d._get_default_store()
    if store.add("hyperviz/finished", 1) == num_ranks:
        store.set("hyperviz/all_finished", "1")
    store.wait(["hyperviz/all_finished"], timedelta(days=1))


def leave(code: int) -> None:
    """Ends the process as a child of ``multiprocessing`` ends: without running what others left for the interpreter's exit."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
