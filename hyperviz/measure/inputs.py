"""Copies of a call's inputs that relate to each other as the originals do, so that one run cannot be seen by another."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def clone_inputs(flat: Sequence[object]) -> list[object]:
    """Fresh inputs with the values, strides, offsets and aliasing of the given ones.

    Two inputs that share a storage share one afterwards, and an input given twice is one object afterwards: a program that writes in
    place sees the same overlaps. Parameters stay parameters and ``requires_grad`` is kept, because compiled code guards on both.

    Args:
        flat: tensors and, unchanged in the result, anything else.

    Returns:
        one value per input, in the same order; nothing of it shares memory with ``flat``.
    """
    storages: dict[int, torch.UntypedStorage] = {}
    copies: dict[int, torch.Tensor] = {}
    for value in flat:
        if isinstance(value, torch.Tensor) and id(value) not in copies:
            copies[id(value)] = _clone(value, storages)
    return [copies.get(id(value), value) for value in flat]


@torch.no_grad()
def _clone(tensor: torch.Tensor, storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided:
        return tensor.clone().requires_grad_(tensor.requires_grad)  # no storage of its own that could be shared
    storage = tensor.untyped_storage()
    if storage.data_ptr() not in storages or storage.nbytes() == 0:
        storages[storage.data_ptr()] = storage.clone()
    copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    copy.set_(storages[storage.data_ptr()], tensor.storage_offset(), tensor.size(), tensor.stride())
    copy = torch.ops.aten._neg_view(copy) if tensor.is_neg() else copy
    copy = copy.conj() if tensor.is_conj() else copy
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(copy, requires_grad=tensor.requires_grad)
    return copy.requires_grad_(tensor.requires_grad)
