"""A world of ranks that do not exist: to capture, look, plan and estimate for any number of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

from hyperviz.snapshot import not_run

_REGISTRIES = ("_pg_map", "_pg_names", "_pg_group_ranks", "_pg_backend_config", "_pg_to_tag", "_tags_to_pg")


@dataclass(frozen=True, slots=True)
class FakeWorld:
    """A number of ranks to capture for, on torch's fake process group, which communicates nothing. What comes of it is not run.

    Attributes:
        size: how many ranks.
        rank: the one whose program is captured, from 0.

    Raises:
        ValueError: a size below 1, or a rank that is not in the world.
    """

    size: int
    rank: int = 0

    def __post_init__(self) -> None:
        for name in ("size", "rank"):
            if not isinstance(getattr(self, name), int) or isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be a whole number, got {getattr(self, name)!r}")
        if self.size < 1:
            raise ValueError(f"size must be ≥ 1, got {self.size}")
        if not 0 <= self.rank < self.size:
            raise ValueError(f"rank must be from 0 to {self.size - 1}, got {self.rank}")

    @property
    def note(self) -> str:
        """What every picture of it says."""
        return not_run(self.size)

    @property
    def refusal(self) -> str:
        """What running it says."""
        return f"{self.note}: to run the step, trace it without world= on the ranks that hv.launch starts"

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Lets torch see the fake process group for a while; one that is up already is put aside and comes back as it was."""
        from torch.testing._internal.distributed.fake_pg import FakeStore  # registers the backend

        with _put_aside():
            dist.init_process_group("fake", store=FakeStore(), rank=self.rank, world_size=self.size)
            try:
                yield
            finally:
                dist.destroy_process_group()


@contextmanager
def _put_aside() -> Iterator[None]:
    """Takes torch's process groups out of its registries, and puts them back."""
    from torch._C._distributed_c10d import _register_process_group, _unregister_process_group
    from torch.distributed import distributed_c10d as c10d

    default, count, hook = c10d._world.default_pg, c10d._world.group_count, sys.excepthook
    registries: list[tuple[dict[Any, Any], dict[Any, Any]]] = [(found := getattr(c10d, name), dict(found)) for name in _REGISTRIES]
    method = c10d._default_pg_init_method
    names = dict(c10d._pg_names)
    for name in names.values():
        _unregister_process_group(name)
    for registry, _ in registries:
        registry.clear()
    c10d._update_default_pg(None)
    c10d._world.group_count = 0
    try:
        yield
    finally:
        sys.excepthook = hook  # init_process_group puts the rank of the fake world in front of every traceback
        for registry, contents in registries:
            registry.clear()
            registry.update(contents)
        for group, name in names.items():
            _register_process_group(name, group)
        c10d._update_default_pg(default)
        c10d._world.group_count = count
        c10d._default_pg_init_method = method
