"""A plan: roles, reasons and regions of a graph, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torch import fx

from hyperviz.analysis.balanced import Limits
from hyperviz.analysis.cost import flops, inputs_of, outputs_of, value_bytes
from hyperviz.analysis.regions import TAG, Regions
from hyperviz.analysis.strategies import find_regions
from hyperviz.graph.kinds import is_getitem
from hyperviz.snapshot import GraphSnapshot, Plan, Region


def make_plan(
    graph_module: fx.GraphModule,
    graph: GraphSnapshot,
    *,
    mode: str,
    strategy: str = "runs",
    settings: Mapping[str, object] | None = None,
    keep_eager: Iterable[str] = (),
    limits: Limits | None = None,
) -> Plan:
    """What a config would do to a graph. Compiles nothing and edits nothing.

    Args:
        graph_module: the graph, with or without fake values; without, bytes and FLOPs are None.
        graph: its snapshot.
        mode: one of ``hyperviz.snapshot.MODES``.
        strategy: one of ``hyperviz.snapshot.STRATEGIES``.
        settings: Inductor settings of every region.
        keep_eager: names, targets and module paths, or globs of them, that stay eager.
        limits: of strategy ``"balanced"``.
    """
    regions = find_regions(graph_module.graph, mode=mode, strategy=strategy, keep_eager=keep_eager, limits=limits)
    return plan_of(regions, graph, mode=mode, strategy=strategy, settings=settings or {})


def plan_of(regions: Regions, graph: GraphSnapshot, *, mode: str, strategy: str, settings: Mapping[str, object]) -> Plan:
    """Regions as plain data."""
    phases = {node.name: node.phase for node in graph.nodes}
    return Plan(
        graph=graph,
        mode=mode,
        strategy=strategy,
        roles={node.name: placement.role for node, placement in regions.placements.items()},
        regions=tuple(
            _region(index, group, phases, group_settings(group, settings, strategy)) for index, group in enumerate(regions.groups)
        ),
        eager={node.name: reason for node, reason in regions.reasons.items()},
        notes=tuple(regions.notes),
        order=_order(regions, graph),
    )


def _order(regions: Regions, graph: GraphSnapshot) -> tuple[str, ...]:
    """The order that the compiled graph runs in, where it is another; a ``getitem`` beside its producer makes no other."""
    names = [node.name for node in regions.order if not is_getitem(node)]
    wanted = set(names)
    return () if names == [node.name for node in graph.nodes if node.name in wanted] else tuple(node.name for node in regions.order)


def group_settings(group: Sequence[fx.Node], settings: Mapping[str, object], strategy: str) -> dict[str, object]:
    """The Inductor settings of a region: the config's, and what its nodes were annotated with where annotations are honoured."""
    merged = dict(settings)
    if strategy == "annotated":
        for node in group:
            tag = (node.meta.get("custom") or {}).get(TAG)
            if isinstance(tag, dict):
                merged.update(tag.get("inductor_configs") or {})
    return merged


def _region(index: int, group: Sequence[fx.Node], phases: Mapping[str, str], settings: Mapping[str, object]) -> Region:
    found = {phases.get(node.name, "") for node in group if node.op != "get_attr"} - {""}
    return Region(
        name=f"region_{index}",
        nodes=tuple(node.name for node in group),
        phase="both" if len(found) > 1 else next(iter(found), ""),
        flops=flops(group),
        bytes_in=value_bytes(node for node in inputs_of(group) if node.op != "get_attr"),
        bytes_out=value_bytes(outputs_of(group)),
        settings=dict(settings),
    )
