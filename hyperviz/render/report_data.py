"""What a report page carries as JSON: every snapshot once, so that every number on the page can be computed again."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hyperviz.snapshot import CompileReport, Equality, GraphSnapshot, Plan, RankReports, Timelines, Timings, to_json


def report_data(
    plans: Mapping[str, Plan],
    timings: Timings | None,
    equalities: Mapping[str, Equality],
    reports: Mapping[str, CompileReport],
    ranks: RankReports | None,
    timelines: Timelines | None,
    versions: Mapping[str, str],
    command: str,
) -> dict[str, object]:
    """JSON-able data.

    Returns:
        ``graphs``: each distinct graph once; ``plans``: label → the plan, its ``graph`` replaced by a number into ``graphs``;
        ``timings``, ``equalities``, ``reports``, ``ranks`` and ``timelines``: as ``hyperviz.snapshot.from_json`` reads them;
        ``versions`` and ``command``.
    """
    graphs = distinct_graphs(plans)
    return {
        "format": "hyperviz-report",
        "version": 1,
        "command": command,
        "versions": dict(versions),
        "graphs": [json.loads(to_json(graph)) for graph in graphs],
        "plans": {label: _plan(plan, graphs.index(plan.graph)) for label, plan in plans.items()},
        "timings": json.loads(to_json(timings)) if timings else None,
        "equalities": {label: json.loads(to_json(equality)) for label, equality in equalities.items()},
        "reports": {label: json.loads(to_json(report)) for label, report in reports.items()},
        "ranks": json.loads(to_json(ranks)) if ranks else None,
        "timelines": json.loads(to_json(timelines)) if timelines else None,
    }


def distinct_graphs(plans: Mapping[str, Plan]) -> list[GraphSnapshot]:
    """The plans' graphs, each once, in order."""
    graphs: list[GraphSnapshot] = []
    for plan in plans.values():
        if plan.graph not in graphs:
            graphs.append(plan.graph)
    return graphs


def _plan(plan: Plan, graph: int) -> dict[str, object]:
    document = json.loads(to_json(plan))
    return {**document, "data": {**document["data"], "graph": graph}}
