"""What a device has to do for a node or a region: floating point operations, and bytes read and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import fx

from hyperviz.analysis.cost import hinted_flops
from hyperviz.analysis.liveness import Life
from hyperviz.analysis.memory import written
from hyperviz.analysis.storages import Storages
from hyperviz.graph.kinds import is_work, operator_name
from hyperviz.graph.values import hinted_bytes, tensors_of
from hyperviz.snapshot import Kernel

# They read as much of their first argument as they return.
_PICKS = frozenset(("aten", name) for name in ("embedding", "index", "gather", "index_select", "take", "_unsafe_index"))


class Work:
    """Tells the work of runs of nodes.

    A run of nodes that are fused reads from memory what was made before it, and writes what is used after it; everything between stays
    on the chip. Matmuls, convolutions and attention are library calls that nothing is fused into: each is work of its own, and so is
    each run of other nodes between two of them. A real compiler fuses less here and there, so bytes are a lower bound.
    """

    def __init__(self, order: Sequence[fx.Node], storages: Storages, life: Life) -> None:
        self._position = {node: index for index, node in enumerate(order)}
        self._storages, self._life = storages, life

    def of(self, block: Sequence[fx.Node]) -> tuple[Kernel, ...]:
        """The work of consecutive nodes that compile together, or of one node."""
        return tuple(self._kernel(run, alone=len(block) == 1) for run in _runs(block) if any(map(is_work, run)))

    def _kernel(self, run: Sequence[fx.Node], alone: bool) -> Kernel:
        counts: dict[str, int | None] = {}
        for node in run:
            if (count := hinted_flops(node)) != 0:
                dtype = _dtype(node)
                before = counts.get(dtype, 0)
                counts[dtype] = None if count is None or before is None else before + count
        sizes = [*self._read(run).values(), *self._written(run, alone).values()]
        return Kernel(counts, None if None in sizes else sum(size for size in sizes if size is not None))

    def _read(self, run: Sequence[fx.Node]) -> dict[int, int | None]:
        """Storage → bytes of it that the run reads from outside."""
        start = self._position[run[0]]
        found: dict[int, int | None] = {}
        for node in filter(is_work, run):
            picks = operator_name(node.target) in _PICKS
            for index, argument in enumerate(node.all_input_nodes):
                read = node if picks and index == 0 else argument
                for number in self._storages.of(argument):
                    if self._life.first.get(number, -1) < start:
                        found[number] = _larger(found.get(number, 0), self._bytes(read, number))
        return found

    def _written(self, run: Sequence[fx.Node], alone: bool) -> dict[int, int | None]:
        """Storage → bytes of it that the run leaves in memory."""
        start, end = self._position[run[0]], self._position[run[-1]]
        found: dict[int, int | None] = {}
        for node in filter(is_work, run):
            changed = written(node)
            for target in (node, *changed):
                for number in self._storages.of(target):
                    made_here = self._life.first.get(number, -1) >= start
                    if alone or self._life.last.get(number, -1) > end or (changed and not made_here):
                        found[number] = _larger(found.get(number, 0), self._bytes(target, number))
        return found

    def _bytes(self, node: fx.Node, number: int) -> int | None:
        """Bytes of a node's value in one storage: no more than the storage has, which an expanded view pretends to."""
        if len(self._storages.of(node)) != 1:
            return self._storages.num_bytes(number)
        size, limit = hinted_bytes(node.meta["val"]) if node.meta.get("val") is not None else None, self._storages.num_bytes(number)
        return size if size is None or limit is None else min(size, limit)


def _runs(block: Sequence[fx.Node]) -> Iterator[list[fx.Node]]:
    """Library calls alone, and what lies between them together."""
    run: list[fx.Node] = []
    for node in block:
        if hinted_flops(node) == 0:
            run.append(node)
            continue
        if run:
            yield run
        yield [node]
        run = []
    if run:
        yield run


def _dtype(node: fx.Node) -> str:
    """What a library call computes in: the dtype of its first floating point argument."""
    for argument in (*node.all_input_nodes, node):
        for tensor in tensors_of(argument.meta.get("val")):
            if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
                return str(tensor.dtype).removeprefix("torch.")
    return str(torch.get_default_dtype()).removeprefix("torch.")


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
