"""Run a function on real ranks from a notebook or a script, and bring every rank's result home."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hyperviz.distributed import flights, freight, processes, rank_error
from hyperviz.distributed.job import Job
from hyperviz.distributed.link import Link
from hyperviz.distributed.output import RankOutput
from hyperviz.distributed.reports import UNFINISHED, UNPICKLABLE

_AGENT = Path(__file__).with_name("agent.py")
# How long ranks may take to start and to find each other, in seconds: on a machine with much else to do, importing torch alone takes many.
_START_S = 300.0
# How long ranks have to say where they stand once time is up, in seconds.
_LAST_WORDS_S = 3.0


def launch(
    fn: Callable[..., Any],
    num_ranks: int = 2,
    timeout_s: float = 300,
    args: tuple[Any, ...] = (),
    link: Link | None = None,
    *,
    watch: Callable[[], None] | None = None,
) -> list[Any]:
    """Calls ``fn(*args)`` on every one of ``num_ranks`` ranks of a real process group, and returns their results in the order of ranks.

    >>> import torch, torch.distributed as dist
    >>> def sum_of_ranks():
    ...     value = torch.tensor(dist.get_rank())
    ...     dist.all_reduce(value)
    ...     return value.item()
    >>> launch(sum_of_ranks, num_ranks=2)
    [1, 1]

    Ranks are processes of this machine, started by torch's elastic agent, on gloo; on nccl where each has a CUDA device of its own and no
    link is asked for. The default group is there when ``fn`` begins; `hyperviz.distributed.current_rank` tells a rank its place and device.
    Cores are shared out among ranks. What ranks print is shown line by line, with the rank. What a notebook or script defines in its
    ``__main__`` (functions, closures, classes, models) travels by value, everything importable by name. Tensors in results come home
    to the CPU.

    However it ends, also by an interrupt or by the death of this process, no process that a rank started, and no rank, is left behind.

    Args:
        fn: what each rank runs.
        num_ranks: how many ranks, at least 1.
        timeout_s: how long ``fn`` may take, in seconds, from when all ranks have joined. Joining takes some seconds, and may take 300.
        args: what ``fn`` is called with, the same on each rank.
        link: a simulated link above gloo: no collective completes sooner than it would allow. Results are the same bits either way.
        watch: called some times a second while ranks run; what it raises ends them, and is raised from here.

    Raises:
        ValueError: an argument is out of range, cannot be pickled, or ``launch`` is called inside a rank; a result cannot be pickled.
        RankError: a rank raised, died, or time ran out: then it says in which collective each rank was, and where.
    """
    check_launch(fn, num_ranks, timeout_s, args, link)
    num_threads = max(1, _num_cores() // num_ranks)
    job = Job(uuid.uuid4().hex, num_ranks, num_threads, timeout_s, _START_S)
    with tempfile.TemporaryDirectory(prefix="hyperviz-launch-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        job.write(folder)
        _pack(folder, fn, args, link)
        output = RankOutput(folder / "logs", num_ranks)
        with _agent(job, folder) as agent:
            late = _follow(agent, folder, job, output, watch)
        output.forward(last=True)
        return _bring_home(job, folder, output, late)


def check_launch(fn: object, num_ranks: object, timeout_s: object, args: object = (), link: object = None) -> None:
    """Refuses, with a sentence, what `launch` would not take; starts nothing.

    Raises:
        ValueError: naming the argument.
    """
    if not callable(fn):
        raise ValueError(f"fn must be callable, got {fn!r}")
    if not isinstance(num_ranks, int) or isinstance(num_ranks, bool) or num_ranks < 1:
        raise ValueError(f"num_ranks must be an integer ≥ 1, got {num_ranks!r}")
    if not isinstance(timeout_s, (int, float)) or isinstance(timeout_s, bool) or not 0 < timeout_s < float("inf"):
        raise ValueError(f"timeout_s must be a number of seconds > 0, got {timeout_s!r}")
    if not isinstance(args, (tuple, list)):
        raise ValueError(f"args must be a tuple of what fn is called with, got {args!r}; did you mean ({args!r},)?")
    if link is not None and not isinstance(link, Link):
        raise ValueError(f'link must be a Link, as in Link(latency_us=50, gbps=100) or Link.named("nvlink4"), got {link!r}')
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise ValueError(
            f"launch starts ranks and must be called outside of them, got a call in rank {os.environ.get('RANK')}: call fn itself"
        )


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pack(folder: Path, fn: object, args: Sequence[Any], link: Link | None) -> None:
    try:
        freight.save(folder / "call", (fn, tuple(args), link))
    except Exception as error:
        name, part = ("args", args) if _travels(folder, fn) else ("fn", fn)
        raise ValueError(f"{name} must be picklable to reach the ranks, got {part!r}: {type(error).__name__}: {error}") from error


def _travels(folder: Path, part: object) -> bool:
    freight.save_if_possible(folder / "part", part)
    return (folder / "part").exists()


@contextmanager
def _agent(job: Job, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The agent and, below it, the ranks: they live no longer than the block, or than this process."""
    with (folder / "agent.log").open("wb") as log:
        # A session of its own: Ctrl-C in a terminal reaches this process alone, which then ends the ranks.
        agent = subprocess.Popen(
            [sys.executable, str(_AGENT), str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_environment(job),
            start_new_session=True,
        )
    try:
        yield agent
    finally:
        processes.end_all(job.token)
        agent.wait()
        if agent.stdin:
            agent.stdin.close()


def _environment(job: Job) -> dict[str, str]:
    """The ranks' environment. What a person set about devices and networks stays."""
    loopback = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    wishes = {
        # Without it gloo looks up the host's own name, which not every machine can resolve.
        **({"GLOO_SOCKET_IFNAME": loopback[0]} if loopback else {}),
        flights.SIZE_VARIABLE: str(flights.SIZE),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "5",
        "TORCHINDUCTOR_COMPILE_THREADS": str(job.num_threads),
    }
    decided = {
        processes.VARIABLE: job.token,
        "OMP_NUM_THREADS": str(job.num_threads),
        "PYTHONUNBUFFERED": "1",
        # What this process can import, its ranks can.
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    return {**wishes, **os.environ, **decided}


def _follow(agent: subprocess.Popen[bytes], folder: Path, job: Job, output: RankOutput, watch: Callable[[], None] | None) -> str:
    """Shows what the ranks print until all have ended; when time is up first, hears where they stand and says what they had not done."""
    limit, deadline = f"started after {job.start_s:g} s", time.monotonic() + job.start_s
    joined = False
    while agent.poll() is None:
        output.forward()
        if watch is not None:
            watch()
        if not joined and len(list(folder.glob("joined-*"))) == job.num_ranks:
            joined, limit, deadline = True, f"finished after {job.timeout_s:g} s", time.monotonic() + job.timeout_s
        if time.monotonic() > deadline:
            _hear_last_words(folder, job.num_ranks)
            return limit
        time.sleep(0.05)
    return ""


def _hear_last_words(folder: Path, num_ranks: int) -> None:
    """Waits until each rank has said where it stands, or a little while."""
    until = time.monotonic() + _LAST_WORDS_S
    while time.monotonic() < until and len(list(folder.glob("rank-*.json"))) < num_ranks:
        time.sleep(0.05)


def _bring_home(job: Job, folder: Path, output: RankOutput, late: str) -> list[Any]:
    results = [folder / f"result-{rank}" for rank in range(job.num_ranks)]
    if all(path.exists() for path in results):
        return [freight.load(path, device="cpu") for path in results]
    reports = rank_error.gather_reports(folder, job, output)
    if late:
        raise rank_error.timed_out(reports, late)
    if all(report.state == UNFINISHED for report in reports):
        raise rank_error.RankError(f"no rank could be started:\n{(folder / 'agent.log').read_text(errors='replace')}")
    error = rank_error.failed(reports)
    cause = _original(folder, error.rank)
    if reports[error.rank or 0].state == UNPICKLABLE:
        raise ValueError(
            f"the result of rank {error.rank} must be picklable to come home, got {error.exception_type}: {error.exception_message}"
        ) from cause
    raise error from cause


def _original(folder: Path, rank: int | None) -> BaseException | None:
    """What the rank raised, where it can be read back here."""
    try:
        return freight.load(folder / f"exception-{rank}", device="cpu")
    except Exception:
        return None
