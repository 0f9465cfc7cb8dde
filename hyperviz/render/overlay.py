"""What changes in a picture when only the plan changes: enough to recolour an SVG in place."""

from __future__ import annotations

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
        ``eager``: name → why it stays eager.
    """
    region_of = plan.region_of()
    return {
        "mode": plan.mode,
        "title": title(plan),
        "subtitle": plan.summary,
        "caveat": plan.graph.caveat,
        "notes": list(plan.notes),
        "nodes": {name: _look(role, region_of.get(name)) for name, role in plan.roles.items()},
        "regions": [_region(region) for region in plan.regions],
        "eager": dict(plan.eager),
    }


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
