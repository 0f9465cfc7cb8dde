"""The pass that merges: the collectives of one module become few large ones."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from torch import fx

from hyperviz.graph import check_placeholders, copy_graph_module, fake_mode_of
from hyperviz.passes.base import GraphPass
from hyperviz.passes.buckets.members import Group, find_groups
from hyperviz.passes.buckets.merge import Merger
from hyperviz.passes.buckets.plan import KEY, Bucket, Buckets
from hyperviz.passes.config import PassConfig
from hyperviz.passes.fsdp.editor import Editor

logger = logging.getLogger(__name__)


class BucketPass(GraphPass):
    """Merge the gathers of each wrapped module into buckets, and its reductions too.

    Matches the collectives that ``FSDPPass`` put into the graph for one module, of one kind, phase, group and dtype::

        a ── gather ── wait ── mm ── free            a ──╮                       ╭─ copy ── mm ── free
        b ── gather ── wait ── add ── free    →      b ── cat ── gather ── wait ─┼─ copy ── add ── free
                                                                                 ╰─ free

        grad a ── div ── reduce_scatter ── wait ──   grad a ── div ──╮                              ╭─ view ──
        grad b ── div ── reduce_scatter ── wait ──   grad b ── div ── cat ── reduce_scatter ── wait ┴─ view ──

    A bucket holds at most ``bucket_bytes`` of whole parameters, one that is larger alone; gathers are packed in the order in which
    they are read, gradients in the order in which they are made. A bucket of one needs neither packing nor copies. Results of
    reductions are views of the bucket, and a sum over replicas takes the bucket of shards as it is; gathered parameters are copied
    out, since the bucket lies by rank and a parameter does not, and so that each is aligned as it was. The bucket's memory is freed
    behind the last copy out, the copies where the parameters were.

    Safe because ``FSDPPass`` launches and waits for all members at one place, and every reader reads what it read before. Numerics:
    packing moves bits only; gathers and sums over two ranks are the same bits. With more ranks, the order in which a backend sums may
    depend on where an element lies.

    Of one's own, and not ``torch._inductor.fx_passes.bucketing``: that copies shards into the gathered buffer by rank, so that each
    rank has another graph and writes that no region may hold; it lets parameters share one storage, which the free of one would
    take from all; and it leaves no phase, module or parameter on what it makes.

    ``graph_module.meta["buckets"]`` is a ``Buckets``; with it, a second run changes nothing.
    """

    name = "bucket"

    def run(self, graph_module: fx.GraphModule, pass_config: PassConfig, **context: Any) -> fx.GraphModule:
        """Merge in place.

        Args:
            graph_module: one that went through ``FSDPPass``; others have nothing to merge. Left as it was if the pass raises.
            pass_config: ``bucket_enabled`` and ``bucket_bytes`` are read.
            **context: unused.

        Raises:
            ValueError: the graph has been through ``OverlapPass``, after which members no longer stand together.
        """
        if not pass_config.bucket_enabled or KEY in graph_module.meta:
            return graph_module
        if "overlap" in graph_module.meta:
            raise ValueError("bucket_enabled must be set before the graph goes through OverlapPass, got one whose collectives were moved")
        check_placeholders(graph_module)
        edited = copy_graph_module(graph_module)
        buckets = Buckets(tuple(_merge(edited, pass_config.bucket_bytes)))
        edited.graph.lint()
        graph_module.graph = edited.graph
        graph_module.recompile()
        graph_module.meta[KEY] = buckets
        logger.info("bucket: %s", buckets.sentence)
        return graph_module


def _merge(graph_module: fx.GraphModule, limit: int | None) -> list[Bucket]:
    """Merges every group; those that reduce the results of others come last, when these are packed."""
    graph, mode = graph_module.graph, fake_mode_of(graph_module)
    groups = find_groups(graph)
    if not groups:
        return []
    assert mode is not None, "collectives carry fake values"
    merger, found = Merger(Editor(graph, mode)), []
    for is_second in (False, True):
        parted = [(group, group.parts(limit)) for group in groups if group.is_second is is_second]
        names = _names([group for group, parts in parted for _ in parts])
        for _, parts in parted:
            named = {next(names): part for part in parts}
            for launch, (name, part) in zip(merger.merge(named), named.items(), strict=True):
                found.append(Bucket(name, launch, tuple(member.fqn for member in part), sum(member.num_bytes for member in part)))
    position = {node.name: index for index, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        if (twin := node.meta.get("twin")) in merger.renamed:
            node.meta["twin"] = merger.renamed[twin]
    return sorted(found, key=lambda bucket: position[bucket.launch])


def _names(groups: Sequence[Group]) -> Iterator[str]:
    """A name for a bucket of each group, numbered where several would have the same."""
    total, count = Counter((group.subject, group.phase) for group in groups), Counter[tuple[str, str]]()
    for group in groups:
        key = (group.subject, group.phase)
        count[key] += 1
        number = f" {count[key]} of {total[key]}" if total[key] > 1 else ""
        yield f"{group.subject}{number} ({group.phase})"
