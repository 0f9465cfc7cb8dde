"""How a tensor is cut into equal shards, one for each rank, and put together again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class ShardLayout:
    """How one parameter lies on the ranks of a group: rows of its outermost dimension, the last ones padded with zeros.

    Every rank holds a shard of the same shape, so that every rank runs the same graph. The outermost dimension is the one with the
    largest stride: dimension 0 of a contiguous tensor. A tensor of no dimension counts as one row.

    Attributes:
        shape: of the whole parameter.
        order: its dimensions from the outermost to the innermost in memory; a shard is stored in this order.
        rows: of the whole parameter along the outermost dimension.
        degree: how many ranks share it.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    rows: int
    degree: int

    @classmethod
    def of(cls, tensor: torch.Tensor, degree: int) -> ShardLayout:
        """The layout of a whole parameter.

        Raises:
            ValueError: its elements do not fill their memory without gaps or overlaps.
        """
        order = tuple(sorted(range(tensor.dim()), key=lambda dim: (-tensor.stride(dim), dim)))
        if not tensor.permute(order).is_contiguous():
            # Strides of dimensions of size 1 say nothing, and may have led the order astray.
            order = tuple(range(tensor.dim()))
        if not tensor.permute(order).is_contiguous():
            raise ValueError(f"a sharded parameter must fill its memory without gaps, got strides {tensor.stride()} for {_shape(tensor)}")
        shape = tuple(tensor.shape)
        return cls(shape, order, shape[order[0]] if order else 1, degree)

    @property
    def shard_rows(self) -> int:
        """Rows of one shard, padding included."""
        return math.ceil(self.rows / self.degree)

    @property
    def padding(self) -> int:
        """Rows of zeros behind the last real one, over all ranks."""
        return self.shard_rows * self.degree - self.rows

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions inside the outermost one, in the order in which a shard is stored."""
        return tuple(self.shape[dim] for dim in self.order[1:])

    @property
    def shard_shape(self) -> tuple[int, ...]:
        """Shape of the shard on every rank."""
        return (self.shard_rows, *self.inner_shape)

    @property
    def gathered_shape(self) -> tuple[int, ...]:
        """Shape of all shards, one after the other."""
        return (self.shard_rows * self.degree, *self.inner_shape)

    @property
    def inverse(self) -> tuple[int, ...]:
        """The permutation that undoes ``order``."""
        return tuple(self.order.index(dim) for dim in range(len(self.order)))

    def shard(self, whole: torch.Tensor, rank: int) -> torch.Tensor:
        """The shard of one rank: a contiguous copy of shape ``shard_shape``.

        Args:
            whole: of shape ``shape``.
            rank: in the group, from 0.
        """
        stored = whole.detach().permute(self.order).reshape(self.rows, *self.inner_shape)
        shard = stored.new_zeros(self.shard_shape)
        mine = stored[rank * self.shard_rows : (rank + 1) * self.shard_rows]
        shard[: len(mine)].copy_(mine)
        return shard

    def whole(self, gathered: torch.Tensor) -> torch.Tensor:
        """The parameter as a view of all shards.

        Args:
            gathered: of shape ``gathered_shape``.
        """
        rows = gathered[: self.rows]
        return rows.permute(self.inverse) if self.order else rows.view(())


def _shape(tensor: torch.Tensor) -> str:
    return f"shape {tuple(tensor.shape)}"
