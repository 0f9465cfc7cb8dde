"""What the explorer asks of the world, answered by real ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from hyperviz.api.parallel import parallelised, with_graph
from hyperviz.api.programs import Graph, graph_module_of
from hyperviz.api.ranks import Ranks, run_on_ranks
from hyperviz.api.session import Session
from hyperviz.capture import FakeWorld, JointGraph
from hyperviz.graph import copy_graph_module
from hyperviz.passes import PassConfig
from hyperviz.snapshot import CompileReport, Equality, Progress, RankReports, Timings
from hyperviz.widgets import Knobs


class RankSession(Session):
    """A step that is looked at on a fake world, and compiled, compared and timed on real ranks."""

    def __init__(self, joint: Graph, config: PassConfig, ranks: Ranks) -> None:
        super().__init__(parallelised(_on_a_world(joint, ranks.num_ranks), config), None, config)
        self._ranks = ranks
        self._found: RankReports | None = None

    @property
    def where(self) -> str:
        """Where Compile runs."""
        return str(self._ranks)

    def compile(self, knobs: Knobs, progress: Callable[[Progress], None], should_stop: Callable[[], bool]) -> CompileReport:
        """All of it at once: the ranks compile, compare and time before they end. Stopping ends them."""
        told = self._teller(progress, should_stop)
        self._found = run_on_ranks(self._ranks, self._configured(knobs), progress=told)
        return self._found.ranks[0].report

    def compare(self) -> Equality:
        """The equality of the rank with the worst verdict."""
        return self._reports().worst.equality

    def benchmark(self) -> Timings:
        """The times of the slowest rank, which the step takes."""
        return self._reports().slowest.timings

    def ranks(self) -> RankReports:
        """What every rank found."""
        return self._reports()

    def _reports(self) -> RankReports:
        if self._found is None:
            raise ValueError("nothing has been compiled yet")
        return self._found


def _on_a_world(joint: Graph, num_ranks: int) -> Graph:
    """The graph for a fake world of as many ranks; one that was captured for such a world as it is."""
    if not isinstance(joint, JointGraph):
        raise ValueError(f"joint must be what hv.trace returns to be looked at beside real ranks, got {type(joint).__name__}")
    if joint.world is not None:
        if joint.world.size != num_ranks:
            raise ValueError(f"num_ranks must be the size of the world that joint was captured for, {joint.world.size}, got {num_ranks}")
        return joint
    graph_module = copy_graph_module(graph_module_of(joint))
    graph_module.meta["fake_world"] = num_ranks
    return dataclasses.replace(with_graph(joint, graph_module), world=FakeWorld(num_ranks))  # pyright: ignore[reportArgumentType]
