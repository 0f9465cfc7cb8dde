"""This process as one rank among others: join the process group, know one's place, leave it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

from hyperviz.distributed import link_group
from hyperviz.distributed.link import Link


@dataclass(frozen=True, slots=True)
class RankInfo:
    """One rank's place, and what it runs on.

    Attributes:
        rank: from 0.
        num_ranks: how many there are.
        backend: ``"gloo"`` or ``"nccl"``: what moves the bytes, with or without a link above it.
        device: where this rank's tensors should live, as in ``"cpu"`` or ``"cuda:1"``.
        num_threads: torch's compute threads in this rank.
        link: the simulated link, or None on the bare group. Times measured with one must say so; ``str(link)`` does.
    """

    rank: int
    num_ranks: int
    backend: str
    device: str
    num_threads: int
    link: Link | None


_here: RankInfo | None = None


def current_rank() -> RankInfo | None:
    """This process's place among the ranks; None where no `process_group` is open."""
    return _here


def current_link() -> Link | None:
    """The simulated link under this rank's collectives; None on a bare process group and outside of ranks."""
    return _here.link if _here else None


@contextmanager
def process_group(*, link: Link | None = None, timeout_s: float = 300, num_threads: int | None = None) -> Iterator[RankInfo]:
    """Joins the ranks that ``torchrun`` or `launch` started, for as long as the block lasts.

    `launch` opens this around the function that it runs; a script under plain ``torchrun`` opens it itself::

        with process_group() as here:
            train(here.rank, here.device)

    It is nccl where every rank has a CUDA device of its own and no link is asked for, gloo otherwise.

    Args:
        link: put this simulated link above gloo.
        timeout_s: after how long a collective that nobody answers is an error, in seconds.
        num_threads: torch's compute threads in this rank; None leaves them as they are.
    """
    global _here
    if num_threads:
        torch.set_num_threads(num_threads)
    device = _own_device() if link is None else torch.device("cpu")
    if link is not None:
        link_group.register(link)
    backend = link_group.BACKEND if link else "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout_s))
    moves = "nccl" if device.type == "cuda" else "gloo"
    _here = RankInfo(dist.get_rank(), dist.get_world_size(), moves, str(device), torch.get_num_threads(), link)
    try:
        yield _here
    finally:
        _here = None
        dist.destroy_process_group()


def _own_device() -> torch.device:
    local_rank, num_local = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    if not dist.is_nccl_available() or torch.cuda.device_count() < num_local:
        return torch.device("cpu")
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)
