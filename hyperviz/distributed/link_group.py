"""A process group over gloo in which each collective completes no sooner than a link would allow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from hyperviz.distributed import wire
from hyperviz.distributed.link import Link

BACKEND = "hyperviz_link"


class LinkQueue:
    """One link: what is sent on it goes one after another."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._free_at = 0.0
        self._lock = threading.Lock()

    def send(self, num_bytes: float) -> float:
        """Takes the link as soon as it is free, and says on the monotonic clock when ``num_bytes`` have gone over it."""
        with self._lock:
            self._free_at = max(self._free_at, time.monotonic()) + self.link.seconds(num_bytes)
            return self._free_at


class LinkWork(dist.Work):
    """A collective under way: done when gloo has done it and the link has had its time."""

    def __init__(self, work: dist.Work, ready_at: float, tensors: tuple[Any, ...]) -> None:
        super().__init__()
        self._work = work
        self._ready_at = ready_at
        # gloo's threads write here until the wait: whoever forgets the tensors must not free them.
        self._tensors = tensors
        self._waited = False

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Returns when the collective is complete; sleeps for what the link still needs, so no core is taken."""
        self._work.wait(timeout)
        while (remaining := self._ready_at - time.monotonic()) > 0:
            time.sleep(remaining)
        self._waited = True
        return True

    def is_completed(self) -> bool:
        """Whether `wait` would return at once."""
        # Some of gloo's works never say so themselves.
        return self._waited or (self._work.is_completed() and time.monotonic() >= self._ready_at)

    def get_future(self) -> torch.futures.Future:
        """A future with gloo's result that completes when `wait` would return; ``DistributedDataParallel`` asks for it."""
        future = torch.futures.Future()
        threading.Thread(target=self._complete, args=(future,), daemon=True).start()
        return future

    def _complete(self, future: torch.futures.Future) -> None:
        try:
            self.wait()
            future.set_result(self._work.get_future().wait())
        except Exception as error:
            future.set_exception(error)


class LinkGroup(dist.ProcessGroup):
    """gloo with a `LinkQueue` before it. The numbers are gloo's own: only the moment of completion is later.

    Each rank counts from its own launch: one that launches early may be complete sooner than on a real link, by what the others are late.
    Each group has a link of its own. Receiving from any source is not delayed.

    On gloo, several functional ``all_gather_into_tensor`` in flight at once have been seen to corrupt the heap (torch 2.13). What the layer
    sends is no different from what it is given: such gathers belong in their ``_out`` form, with a link and without.
    """

    def __init__(self, store: c10d.Store, rank: int, size: int, timeout: timedelta, link: Link) -> None:
        super().__init__(rank, size)  # pyright: ignore[reportCallIssue]  # how torch's stubs leave Python subclasses out
        gloo = dist.ProcessGroupGloo(store, rank, size, timeout=timeout)
        self.bare = dist.ProcessGroup(store, rank, size)
        self.queue = LinkQueue(link)
        for group in (self.bare, self):
            group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
            group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)


def _over_link(method: str) -> Callable[..., LinkWork]:
    def launch(self: LinkGroup, *arguments: Any, **options: Any) -> LinkWork:
        ready_at = self.queue.send(wire.bytes_on_wire(method, arguments, self.size()))
        return LinkWork(getattr(self.bare, method)(*arguments, **options), ready_at, arguments)

    launch.__name__ = method
    return launch


# torch calls these by name, from Python and, through its trampoline, from the functional collectives in C++.
for _method in wire.METHODS:
    if hasattr(dist.ProcessGroup, _method):
        setattr(LinkGroup, _method, _over_link(_method))


def register(link: Link) -> None:
    """Makes `BACKEND` a name that ``init_process_group`` and ``new_group`` understand in this process."""
    dist.Backend.register_backend(BACKEND, lambda *where: LinkGroup(*where, link=link), devices=["cpu"])
    _functional.impl("all_gather_into_tensor_out", _all_gather_into_tensor_out, "CPU")


# torch's trampoline lets no Python group see this one op: it would go to gloo past the link.
_functional = torch.library.Library("_c10d_functional", "IMPL")


def _all_gather_into_tensor_out(shard: torch.Tensor, group_size: int, group_name: Any, *, out: torch.Tensor) -> torch.Tensor:
    # torch passes the group itself since 2.12, its name before.
    group: Any = c10d._resolve_process_group(cast(Any, group_name)) if isinstance(group_name, str) else group_name
    gather = getattr(group, "all_gather_single", None) or group._allgather_base
    c10d._register_work(out, gather(out, shard))
    return out
