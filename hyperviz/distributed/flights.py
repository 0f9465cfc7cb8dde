"""Which collectives this process has in flight, from torch's own flight recorder."""

from __future__ import annotations

import json
from typing import Any

from torch._C import _distributed_c10d as c10d

# How many collectives torch keeps in mind; read by torch from the environment before the first group is made.
SIZE_VARIABLE, SIZE = "TORCH_FR_BUFFER_SIZE", "512"


def collectives() -> tuple[tuple[str, ...], str] | None:
    """The collectives in flight, oldest first, and the last complete one; None where this torch does not record them.

    They are named as the backend carries them out: gloo does a reduce-scatter as an all-reduce. gloo has the recorder since torch 2.8.
    """
    dump = getattr(c10d, "_dump_fr_trace_json", None)
    if dump is None:
        return None
    try:
        told = [(entry["retired"], _describe(entry)) for entry in json.loads(dump()).get("entries", [])]
    except KeyError:  # the record's format is torch's own business, and a diagnosis must not fail for it
        return None
    done = [description for retired, description in told if retired]
    return tuple(description for retired, description in told if not retired), done[-1] if done else ""


def _describe(entry: dict[str, Any]) -> str:
    name = entry["profiling_name"].split(":")[-1]
    number = entry["p2p_seq_id"] if entry["is_p2p"] else entry["collective_seq_id"]
    tensors = ", ".join(f"{dtype.lower()} {shape}" for dtype, shape in zip(entry["input_dtypes"], entry["input_sizes"], strict=False))
    group = " ".join(part for part in entry["process_group"] if part not in ("", "undefined"))
    return f"{name} #{number}{f' of {tensors}' if tensors else ''} on group {group}"
