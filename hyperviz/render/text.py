"""A plan as text that people read and grep searches: the picture's twin, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hyperviz.render.communication import CommunicationRow, communication
from hyperviz.render.labels import clean
from hyperviz.render.numbers import plural, scaled
from hyperviz.render.table import plan_table
from hyperviz.snapshot import Plan, Region

_MAX_COLUMN = 44


def text(plan: Plan) -> str:
    """The title, mode and counts, every region, every collective with its wait, and then one line for each node in execution order.

    A node's line holds phase, role, region (``-`` without one), name, operator, what it produces and reads, and why it stays eager. Its
    columns are separated by at least two spaces, which no value holds.
    """
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield clean(plan.graph.title or "Graph")
    if plan.graph.caveat:
        yield plan.graph.caveat
    yield f"{plan.summary} · {plural(len(plan.graph), 'node')}"
    yield from (f"note: {clean(note)}" for note in (*plan.graph.notes, *plan.notes))
    if plan.regions:
        yield ""
        yield from _columns([("region", "phase", "nodes", "work", "in", "out", "from", "to"), *map(_region, plan.regions)])
    if plan.graph.collectives:
        yield ""
        head = ("collective", "phase", "moves", "group", "payload", "bucket", "launch", "wait", "inside", "window")
        yield from _columns([head, *map(_collective, communication(plan))])
    yield ""
    reads = {node.name: " ".join(node.inputs) for node in plan.graph.nodes}
    head = ("phase", "role", "region", "name", "operator", "produces", "reads", "module", "why eager")
    rows = [
        (row.phase, row.role, row.region, row.name, row.target, row.produces, reads[row.name], row.module_path, row.reason)
        for row in plan_table(plan)
    ]
    yield from _columns([head, *rows])


def _region(region: Region) -> tuple[str, ...]:
    return (
        region.name,
        region.phase,
        str(len(region)),
        scaled(region.flops, "FLOP"),
        scaled(region.bytes_in, "B"),
        scaled(region.bytes_out, "B"),
        region.nodes[0] if region.nodes else "",
        region.nodes[-1] if region.nodes else "",
    )


def _collective(row: CommunicationRow) -> tuple[str, ...]:
    one = row.collective
    return (
        f"{row.number} {one.kind}",
        row.phase,
        row.what,
        row.group,
        scaled(one.payload_bytes, "B"),
        one.bucket,
        one.launch,
        " ".join(one.waits),
        str(len(one.compute_inside)),
        row.window,
    )


def _columns(rows: Sequence[Iterable[str]]) -> Iterator[str]:
    """Rows with their columns aligned, up to a width at which one long value would push all others away."""
    cells = [[" ".join(clean(value).split()) or "-" for value in row] for row in rows]
    widths = [min(max(map(len, column)), _MAX_COLUMN) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
