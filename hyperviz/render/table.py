"""A plan as rows: one for each node, with its role, its region or the reason that it has none, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from hyperviz.snapshot import NodeSnapshot, Plan


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What a plan says about one node.

    Attributes:
        name: the node's.
        target: its operator, or what a placeholder stands for.
        phase: as in the snapshot.
        role: one of ``hyperviz.snapshot.ROLES``.
        region: name of its region, or empty.
        reason: why it stays eager, or empty.
        produces: its tensors, as in ``"float32[2, 3]"``.
        num_bytes: of its tensors, or None.
        module_path: of the module that it belongs to.
        source: the user's line, as in ``"train.py:12"``, or empty.
    """

    name: str
    target: str
    phase: str
    role: str
    region: str
    reason: str
    produces: str
    num_bytes: int | None
    module_path: str
    source: str


def plan_table(plan: Plan) -> list[PlanRow]:
    """Every node of a plan's graph, in execution order."""
    region_of = plan.region_of()
    names = {name: region.name for name, region in region_of.items()}
    return [_row(node, plan, names.get(node.name, "")) for node in plan.graph.nodes]


def _row(node: NodeSnapshot, plan: Plan, region: str) -> PlanRow:
    return PlanRow(
        name=node.name,
        target=node.target,
        phase=node.phase,
        role=plan.roles[node.name],
        region=region,
        reason=plan.eager.get(node.name, ""),
        produces=", ".join(map(str, node.tensors)),
        num_bytes=node.num_bytes if node.tensors else None,
        module_path=node.module_path,
        source=str(node.source) if node.source else "",
    )
