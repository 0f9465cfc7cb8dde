"""What compiling a plan took, region by region."""

from __future__ import annotations

from dataclasses import dataclass

CACHES = ("miss", "hit", "bypass", "unknown")


@dataclass(frozen=True, slots=True)
class RegionReport:
    """How one region was compiled.

    Attributes:
        name: the region's name in the plan.
        num_nodes: how many nodes it holds.
        seconds: wall time spent on it; 0.0 where it shares another's artifact.
        reused_from: the region whose artifact it shares, or None.
        cache: what Inductor's on-disk cache said, one of ``CACHES``.
        error: why it stayed eager although it was planned, or None.
    """

    name: str
    num_nodes: int
    seconds: float
    reused_from: str | None = None
    cache: str = "unknown"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class OrderCheck:
    """What was found when the order of a compiled graph was compared with its plan; a difference would have been an error.

    Attributes:
        num_fixed: launches, waits, frees, sends and other eager calls outside regions: each runs behind the compute that the plan has
            before it, and before the rest.
        num_compute: compute nodes that they were compared against.
        num_windows: collectives with compute between launch and wait in the graph before.
        num_kept: of these, those that have all of it there in the compiled graph too.
        lost: what the others have lost, a sentence each.
    """

    num_fixed: int
    num_compute: int
    num_windows: int
    num_kept: int
    lost: tuple[str, ...] = ()

    def __str__(self) -> str:
        as_planned = f"order as planned: {self.num_fixed} eager calls against {self.num_compute} compute nodes"
        return f"{as_planned}; windows kept: {self.num_kept} of {self.num_windows}" if self.num_windows else as_planned


@dataclass(frozen=True, slots=True)
class CompileReport:
    """How a graph was compiled.

    Attributes:
        mode: one of ``hyperviz.snapshot.MODES``, or ``"unavailable"`` where this torch cannot compile regions.
        seconds: wall time of the whole pass.
        regions: in execution order.
        notes: sentences about the compile as a whole.
        order: the order of the compiled graph, compared with the plan; None where nothing was compiled.
    """

    mode: str
    seconds: float
    regions: tuple[RegionReport, ...] = ()
    notes: tuple[str, ...] = ()
    order: OrderCheck | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a compile is; told before each distinct region, and once at the end.

    Attributes:
        index: how many distinct regions are done.
        total: how many there are.
        name: the region that is being compiled now; empty at the end.
        what: what it holds, in a few words, as in ``"12 nodes of blocks.0.attn"``.
        seconds: wall time since the compile began.
        seconds_left: an estimate from the nodes that are left; None before the first region is done.
    """

    index: int
    total: int
    name: str = ""
    what: str = ""
    seconds: float = 0.0
    seconds_left: float | None = None
