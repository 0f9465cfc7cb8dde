"""What a plan leaves of the windows of collectives: the compute that stood between launch and wait, and still does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hyperviz.snapshot.plan import Plan

_CONSTANTS = ("placeholder", "output")
_GETITEM = "operator.getitem"


@dataclass(frozen=True, slots=True)
class Window:
    """The window of one collective, in the graph and under a plan.

    Attributes:
        launch: the collective's launch.
        inside: the compute between launch and first wait in the graph, in execution order.
        lost: those that the plan runs before the launch or behind the wait.
        region: the region that holds launch and wait, which Inductor orders as it likes; ``""`` where they stand outside regions.
    """

    launch: str
    inside: tuple[str, ...]
    lost: tuple[str, ...]
    region: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether a person can say that nothing of it was lost."""
        return not self.lost and not self.region

    def __str__(self) -> str:
        if self.region:
            return f"inside {self.region}: Inductor orders it"
        if not self.lost:
            return "kept" if self.inside else "empty"
        return f"{len(self.lost)} of {len(self.inside)} compute nodes lost"


def windows_of(plan: Plan) -> tuple[Window, ...]:
    """The window of every collective that the graph waits for, in the order of launches."""
    return windows_in(plan, [name for step in steps_of(plan) for name in step])


def windows_in(plan: Plan, order: Sequence[str]) -> tuple[Window, ...]:
    """The windows under another order of the plan's nodes, as a compiled graph has it.

    Args:
        plan: which regions there are, and what the windows were.
        order: names of the calls in the order in which they run.
    """
    place = {name: index for index, name in enumerate(order)}
    region_of = plan.region_of()
    return tuple(
        _window(one.launch, one.waits[0], one.compute_inside, place, {name: region.name for name, region in region_of.items()})
        for one in plan.graph.collectives
        if one.waits and one.waits[0] != one.launch
    )


def steps_of(plan: Plan) -> Iterator[tuple[str, ...]]:
    """The calls of a planned graph as they run: alone, or with the other members of their region, where the last of them stands.

    A ``getitem`` has no work of its own: where it stands says nothing about its region.
    """
    order = plan.order or tuple(node.name for node in plan.graph.nodes)
    calls = {node.name: node.target for node in plan.graph.nodes if node.op not in (*_CONSTANTS, "get_attr")}
    region_of = plan.region_of()
    left = {region.name: max(1, sum(calls.get(name, _GETITEM) != _GETITEM for name in region.nodes)) for region in plan.regions}
    for name in order:
        region = region_of.get(name)
        if region is None and name in calls:
            yield (name,)
        elif region is not None and calls.get(name, _GETITEM) != _GETITEM:
            left[region.name] -= 1
            if not left[region.name]:
                yield tuple(member for member in region.nodes if member in calls)


def _window(launch: str, wait: str, inside: tuple[str, ...], place: dict[str, int], region_of: dict[str, str]) -> Window:
    if region := region_of.get(launch) or region_of.get(wait):
        return Window(launch, inside, (), region)
    lost = tuple(name for name in inside if not place[launch] < place[name] < place[wait])
    return Window(launch, inside, lost)


@dataclass(frozen=True, slots=True)
class Move:
    """An eager call that a plan runs elsewhere than the graph does.

    Attributes:
        node: its name.
        ahead_of: compute that the graph runs before it, and the plan after it.
        behind: compute that the graph runs after it, and the plan before it.
    """

    node: str
    ahead_of: tuple[str, ...]
    behind: tuple[str, ...]

    def __str__(self) -> str:
        sides = [f"{side} {_nodes(names)}" for side, names in (("ahead of", self.ahead_of), ("behind", self.behind)) if names]
        return f"{self.node} moved {' and '.join(sides)}"


def moves_of(plan: Plan) -> tuple[Move, ...]:
    """What a plan moves: every launch, wait, free or other eager call outside regions that changes sides with compute.

    Empty for strategy ``"runs"`` in regional mode, which moves nothing.
    """
    if not plan.order:
        return ()
    region_of, fixed = plan.region_of(), ("collective", "wait", "effect")
    before = [node.name for node in plan.graph.nodes if node.op not in (*_CONSTANTS, "get_attr")]
    after = [name for step in steps_of(plan) for name in step]
    eager = [name for name in before if plan.roles[name] in fixed and name not in region_of]
    was, now = _compute_before(before, set(eager)), _compute_before(after, set(eager))
    moves = []
    for name in eager:
        earlier, later = was[name] - now[name], now[name] - was[name]
        if earlier or later:
            moves.append(Move(name, tuple(one for one in before if one in earlier), tuple(one for one in before if one in later)))
    return tuple(moves)


def _compute_before(names: Sequence[str], eager: set[str]) -> dict[str, frozenset[str]]:
    """Eager call → the compute that runs before it; calls with the same have the same object."""
    found: dict[str, frozenset[str]] = {}
    sofar: list[str] = []
    held: frozenset[str] = frozenset()
    for name in names:
        if name not in eager:
            sofar.append(name)
            continue
        held = held if len(held) == len(sofar) else frozenset(sofar)
        found[name] = held
    return found


def _nodes(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} nodes ({names[0]} to {names[-1]})"
