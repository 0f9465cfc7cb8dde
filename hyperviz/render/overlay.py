"""What changes in a picture when only the plan changes: enough to recolour an SVG in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hyperviz.render.communication import CommunicationRow, communication
from hyperviz.render.palette import badge, paint_index
from hyperviz.render.scene import title
from hyperviz.snapshot import Plan, Region


def overlay(plan: Plan) -> dict:
    """A plan as JSON-able data for a view that already holds a picture of the plan's graph.

    Returns:
        ``mode``, ``title``, ``subtitle`` and ``caveat``: text; ``notes``: the plan's sentences;
        ``nodes``: name → ``[role, region number or None, paint index or None, badge]``;
        ``regions``: one dictionary for each region, in execution order, with ``number``, ``name``, ``phase``, ``num_nodes``, ``paint``,
        ``flops``, ``bytes_in`` and ``bytes_out``;
        ``eager``: name → why it stays eager;
        ``collectives``: one dictionary for each, in the order of launches, with ``number``, ``kind``, ``what``, ``group``, ``bytes``,
        ``bucket``, ``launch``, ``waits``, ``window`` and ``inside``: pairs of first and last place, among ``nodes``, of what computes
        between launch and wait.
    """
    region_of = plan.region_of()
    return {
        "mode": plan.mode,
        "title": title(plan),
        "subtitle": plan.summary,
        "caveat": plan.graph.caveat,
        "notes": list(plan.notes),
        "nodes": {node.name: _look(plan.roles[node.name], region_of.get(node.name)) for node in plan.graph.nodes},
        "regions": [_region(region) for region in plan.regions],
        "eager": dict(plan.eager),
        "collectives": _collectives(plan),
    }


def _collectives(plan: Plan) -> list[dict]:
    place = {node.name: index for index, node in enumerate(plan.graph.nodes)}
    return [_collective(row, place) for row in communication(plan)]


def _collective(row: CommunicationRow, place: Mapping[str, int]) -> dict:
    one = row.collective
    return {
        "number": row.number,
        "kind": one.kind,
        "what": row.what,
        "group": row.group,
        "bytes": one.payload_bytes,
        "bucket": one.bucket,
        "launch": one.launch,
        "waits": [wait for wait in one.waits if wait != one.launch],
        "window": row.window,
        "inside": _runs([place[name] for name in one.compute_inside]),
    }


def _runs(places: Iterable[int]) -> list[list[int]]:
    """Ascending numbers as (first, last) of each run: a long window of a large graph stays a few numbers."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return runs


def _look(role: str, region: Region | None) -> list:
    if region is None:
        return [role, None, None, badge(role, None)]
    return [role, region.number, paint_index(region.number), badge(role, region.number)]


def _region(region: Region) -> dict:
    return {
        "number": region.number,
        "name": region.name,
        "phase": region.phase,
        "num_nodes": len(region),
        "paint": paint_index(region.number),
        "flops": region.flops,
        "bytes_in": region.bytes_in,
        "bytes_out": region.bytes_out,
    }
