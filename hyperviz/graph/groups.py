"""Process groups by the names that graphs carry."""

from __future__ import annotations

import contextlib

import torch
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


def group_name(value: object) -> str:
    """The name of what stands for a group in a graph: a name, a process group, or a boxed one; empty where it has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, torch.ScriptObject):  # how graphs hold the group itself: torch.classes.c10d.ProcessGroup
        with contextlib.suppress(AttributeError, RuntimeError, TypeError):
            value = dist.ProcessGroup.unbox(value)
    try:
        return str(getattr(value, "group_name", ""))
    except RuntimeError:  # the group is no longer registered
        return ""
