"""How many bytes one rank must send in a collective: the ring formulas, per method of a process group.

With ``S`` the bytes of the whole array and ``n`` ranks, a ring sends per rank

- all-reduce ``2 S (n-1)/n``
- all-gather (``S`` = output), reduce-scatter (``S`` = input), all-to-all (``S`` = input) ``S (n-1)/n``
- broadcast, reduce, send, receive ``S``
- gather and scatter ``S (n-1)/n`` at the root, ``S`` being all ranks' parts together
- barrier 0

Sources: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009; NVIDIA/nccl-tests,
doc/PERFORMANCE.md ("bus bandwidth").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

_SENT_ONCE, _GATHERED, _REDUCED, _PARTS = "once", "gathered", "reduced", "parts"

# For each method of `torch.distributed.ProcessGroup`, under its newer and its older name: which argument holds the array, and its formula.
_COSTS: dict[str, tuple[int, str]] = {
    "allreduce": (0, _REDUCED),
    "allreduce_coalesced": (0, _REDUCED),
    "allgather": (0, _GATHERED),
    "all_gather_single": (0, _GATHERED),
    "_allgather_base": (0, _GATHERED),
    "all_gather_single_coalesced": (0, _GATHERED),
    "allgather_into_tensor_coalesced": (0, _GATHERED),
    "allgather_coalesced": (0, _GATHERED),
    "reduce_scatter": (1, _GATHERED),
    "reduce_scatter_single": (1, _GATHERED),
    "_reduce_scatter_base": (1, _GATHERED),
    "reduce_scatter_single_coalesced": (1, _GATHERED),
    "reduce_scatter_tensor_coalesced": (1, _GATHERED),
    "alltoall": (1, _GATHERED),
    "all_to_all_single": (1, _GATHERED),
    "alltoall_base": (1, _GATHERED),
    "gather": (1, _PARTS),
    "scatter": (0, _PARTS),
    "broadcast": (0, _SENT_ONCE),
    "reduce": (0, _SENT_ONCE),
    "send": (0, _SENT_ONCE),
    "recv": (0, _SENT_ONCE),
    "barrier": (-1, _SENT_ONCE),
}

METHODS = tuple(_COSTS)


def bytes_on_wire(method: str, arguments: tuple[Any, ...], num_ranks: int) -> float:
    """Bytes that a rank must send when ``method`` of a process group of ``num_ranks`` is called with ``arguments``."""
    position, formula = _COSTS[method]
    size = _num_bytes(arguments[position]) if position >= 0 else 0
    share = (num_ranks - 1) / num_ranks
    return size * {_SENT_ONCE: 1, _GATHERED: share, _REDUCED: 2 * share, _PARTS: num_ranks - 1}[formula]


def _num_bytes(value: torch.Tensor | Iterable[Any]) -> int:
    """Bytes of a tensor, or of all tensors in a list of them or of lists of them."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return sum(_num_bytes(one) for one in value)
