"""The pass that hides communication: it issues collectives earlier and waits for them later."""

from __future__ import annotations

import logging
from typing import Any

from torch import fx

from hyperviz.analysis import Memory
from hyperviz.analysis.hazards import Hazards
from hyperviz.graph.collectives import launch_of
from hyperviz.graph.kinds import is_wait
from hyperviz.passes.base import GraphPass
from hyperviz.passes.config import PassConfig
from hyperviz.passes.overlap.flight import keep_within
from hyperviz.passes.overlap.places import Places
from hyperviz.passes.overlap.plan import KEY
from hyperviz.passes.overlap.report import describe
from hyperviz.passes.overlap.transfers import find_transfers

logger = logging.getLogger(__name__)


class OverlapPass(GraphPass):
    """Let communication run while the graph computes: nodes change places, and nothing else.

    Matches every collective with a wait of its own, those of a bucket together, and moves, with ``prefetch_buckets=1``::

        gather 1 ── wait 1 ── mm 1 ── gather 2 ── wait 2 ── mm 2          mm ── reduce 1 ── wait 1 ── mm ── … ── output

        gather 1 ── gather 2 ── wait 1 ── mm 1 ── gather 3 ── wait 2 ──   mm ── reduce 1 ── mm ── … ── wait 1 ── output
                    ╰ one bucket ahead of its use                               ╰ as soon as its input exists   ╰ at its first use

    A gather of what the step is given, with the buffer that it fills and the packing before it, is issued where the gather
    ``prefetch_buckets`` before it is waited for; every other collective as soon as its inputs exist; every wait, with the views and
    copies that take its result apart, stands before the first node that needs it. Where a second reduction reads the first one's
    result, as over replicas, it is issued behind the launch of the next reduction, and the first is waited for only there. With
    ``max_bytes_in_flight``, a gather is issued fewer buckets ahead, and reductions are waited for earlier, so that no more bytes are
    in flight: filled by a gather and not yet used, or read by a reduction, which torch keeps until its wait.

    Safe because every node stays behind what it reads, memory is written and freed in the order in which it was, a wait counts as
    reading what its launch reads, and nothing passes a send, a receive, a barrier or a call that nobody can see into. What is
    neither launched nor waited for keeps its order. Every rank moves alike: places depend on the order and sizes in the graph
    alone. Numerics: the same bits.

    Prefetching holds the parameters of ``prefetch_buckets`` more modules at once, and waiting late for reductions holds their inputs:
    without a limit, those of the whole backward.

    ``graph_module.meta["overlap"]`` is an ``Overlap``; with it, a second run changes nothing.
    """

    name = "overlap"

    def run(self, graph_module: fx.GraphModule, pass_config: PassConfig, **context: Any) -> fx.GraphModule:
        """Change the order in place.

        Args:
            graph_module: with or without buckets, of any origin; one without collectives stays as it is. Without fake values, bytes
                count as 0.
            pass_config: ``enable_overlap``, ``prefetch_buckets`` and ``max_bytes_in_flight`` are read.
            **context: unused.
        """
        if not pass_config.enable_overlap or KEY in graph_module.meta:
            return graph_module
        graph = graph_module.graph
        memory = Memory(graph)
        transfers = find_transfers(graph, memory)
        launches = {node: launch for node in graph.nodes if is_wait(node) and (launch := launch_of(node)) is not None}
        movable = [node for transfer in transfers for node in (*transfer.front, *transfer.back)]
        hazards = Hazards(graph, memory, launches, movable)
        places = Places.of(graph, transfers, hazards, pass_config.prefetch_buckets, pass_config.max_bytes_in_flight)
        most = keep_within(places, pass_config.max_bytes_in_flight)
        keys = places.keys()
        order = sorted(keys, key=keys.__getitem__)
        overlap = describe(places, order, most, pass_config.max_bytes_in_flight)
        _reorder(graph, order)
        graph.lint()
        graph_module.recompile()
        graph_module.meta[KEY] = overlap
        logger.info(overlap.sentence)
        return graph_module


def _reorder(graph: fx.Graph, order: list[fx.Node]) -> None:
    """Lets nodes stand in an order, those in place untouched."""
    current = next(iter(graph.nodes))
    for node in order:
        if node is current:
            current = current.next
        else:
            current.prepend(node)
