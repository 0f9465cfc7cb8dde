"""Process groups by the names that graphs carry."""

from __future__ import annotations

import torch.distributed as dist


def find_group(name: object) -> dist.ProcessGroup | None:
    """The process group of a name; None where none of that name is up on this rank."""
    if not (dist.is_available() and dist.is_initialized()):
        return None
    from torch._C._distributed_c10d import _resolve_process_group

    try:
        return _resolve_process_group(name)  # pyright: ignore[reportArgumentType]
    except (RuntimeError, ValueError, TypeError):
        return None
