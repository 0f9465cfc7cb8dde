"""Which nodes compile together, under each strategy that a person may ask for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from torch import fx

from hyperviz.analysis.balanced import Limits, balance
from hyperviz.analysis.merged import merge_as_torch
from hyperviz.analysis.regions import TAG, Regions, find_runs


def find_regions(
    graph: fx.Graph, *, mode: str, strategy: str = "runs", keep_eager: Iterable[str] = (), limits: Limits | None = None
) -> Regions:
    """The regions of a graph under a mode and a strategy. Edits nothing.

    Args:
        graph: an FX graph, with or without fake values.
        mode: ``"off"``, ``"regional"`` or ``"full"``; in full mode, which is one region anyway, all strategies but
            ``"annotated"`` are one.
        strategy: ``"runs"`` compiles all that may be; ``"annotated"`` only nodes that carry the tag already, a run for each id;
            ``"balanced"`` joins runs where ``limits`` allow it; ``"merged"`` compiles what ``"runs"`` does, grouped and ordered by
            torch itself. All but ``"merged"`` are near linear in the size of the graph.
        keep_eager: names, targets and module paths, or globs of them, that stay eager.
        limits: of ``"balanced"``.

    Raises:
        ValueError: for ``"merged"`` on a torch that has no regional Inductor; for ``"balanced"`` on unknown hardware.
    """
    runs = find_runs(graph, mode=mode, annotated=strategy == "annotated", keep_eager=keep_eager)
    root = graph.owning_module
    if mode != "regional" or not runs.groups or root is None:
        return runs
    if strategy == "merged":
        merged = merge_as_torch(root, (node for group in runs.groups for node in group), TAG)
        return dataclasses.replace(runs, order=merged.order, groups=merged.groups, notes=merged.notes)
    return balance(runs, root, limits or Limits()) if strategy == "balanced" else runs
