"""A plan's communication as rows: one for each collective, with what it moves, and what of its window the plan keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hyperviz.render.numbers import plural
from hyperviz.snapshot import Collective, NodeSnapshot, Plan, Window, windows_of

_REACH = 6
"""Steps back from a launch within which its parameters stand: behind views, casts and the copies that fill a bucket."""


@dataclass(frozen=True, slots=True)
class CommunicationRow:
    """What a plan says about one collective.

    Attributes:
        number: its place among the launches, from 0; pictures and tables call it by this.
        collective: as the graph's snapshot has it.
        moves: names of the parameters that it gathers, or whose gradients it reduces; empty where that is not known.
        module_path: the module that it belongs to, or empty.
        phase: of the launch.
        num_kept: of the nodes inside the window, how many stay there for certain; None where Inductor decides, because the launch or
            the wait is in a region.
    """

    number: int
    collective: Collective
    moves: tuple[str, ...]
    module_path: str
    phase: str
    num_kept: int | None

    @property
    def what(self) -> str:
        """What it moves, in a few words: a parameter, a number of them, or the module."""
        if len(self.moves) == 1:
            return self.moves[0]
        if self.moves:
            return plural(len(self.moves), "parameter") + (f" of {self.module_path}" if self.module_path else "")
        return self.module_path

    @property
    def group(self) -> str:
        """Name and size of its process group, as in ``"0 (8 ranks)"``."""
        size = "" if self.collective.num_ranks is None else plural(self.collective.num_ranks, "rank")
        return f"{self.collective.group} ({size})" if self.collective.group and size else self.collective.group or size

    @property
    def window(self) -> str:
        """What becomes of its window: kept, lost, or in part; empty where there is nothing in it to begin with."""
        num_inside = len(self.collective.compute_inside)
        if not self.collective.waits:
            return "never waited for"
        if self.num_kept is None:
            return "Inductor decides"
        if not num_inside:
            return "empty"
        if self.num_kept == num_inside:
            return "kept"
        return f"{self.num_kept} of {num_inside} stay" if self.num_kept else "lost"


def communication(plan: Plan) -> list[CommunicationRow]:
    """Every collective of a plan's graph, in the order of launches.

    What of each window a plan keeps is what ``hyperviz.snapshot.windows_of`` says.
    """
    nodes = plan.graph.by_name()
    windows = {window.launch: window for window in windows_of(plan)}
    launches = {one.launch for one in plan.graph.collectives}
    rows = []
    for number, one in enumerate(plan.graph.collectives):
        launch = nodes[one.launch]
        kept = _num_kept(windows.get(one.launch))
        rows.append(CommunicationRow(number, one, _moves(launch, nodes, launches), launch.module_path, launch.phase, kept))
    return rows


def summary_of_windows(plan: Plan) -> str:
    """One sentence: how many collectives there are, how many have compute in their window, and how many of those keep all of it."""
    rows = communication(plan)
    open_ = [row for row in rows if row.collective.waits and row.collective.compute_inside]
    count = plural(len(rows), "collective")
    if not open_:
        return f"{count}, none with compute between launch and wait"
    kept = sum(row.num_kept == len(row.collective.compute_inside) for row in open_)
    return f"{count}, {len(open_)} with compute between launch and wait, of which {kept} keep all of it"


def _num_kept(window: Window | None) -> int | None:
    return None if window is None or window.region else len(window.inside) - len(window.lost)


def _moves(launch: NodeSnapshot, nodes: Mapping[str, NodeSnapshot], launches: set[str]) -> tuple[str, ...]:
    """The parameters behind a launch; for one that answers another, as the reduction of gradients does a gather, those of that one."""
    found = _parameters(launch, nodes)
    if not found and launch.twin in launches:
        found = _parameters(nodes[launch.twin], nodes)
    return found


def _parameters(launch: NodeSnapshot, nodes: Mapping[str, NodeSnapshot]) -> tuple[str, ...]:
    """The parameters that a launch reads, or none where it reads anything else, as activations are."""
    leaves = list(_leaves(launch, nodes))
    if any(leaf is None or (leaf.op == "placeholder" and leaf.kind != "parameter") for leaf in leaves):
        return ()
    return tuple(dict.fromkeys(leaf.target for leaf in leaves if leaf and leaf.op == "placeholder"))


def _leaves(launch: NodeSnapshot, nodes: Mapping[str, NodeSnapshot]) -> Iterator[NodeSnapshot | None]:
    """What stands at the ends of the paths back from a launch; None for a path that is longer than ``_REACH`` or waits on the way."""
    seen, layer = {launch.name}, [launch]
    for _ in range(_REACH):
        following = []
        for node in layer:
            for name in node.inputs:
                before = nodes[name]
                if name in seen:
                    continue
                seen.add(name)
                if "wait_tensor" in before.target:
                    yield None
                elif before.inputs:
                    following.append(before)
                else:
                    yield before
        layer = following
    if layer:
        yield None
