"""What an overlapped graph remembers: which nodes moved, from where to where, and why."""

from __future__ import annotations

from dataclasses import dataclass

KEY = "overlap"


@dataclass(frozen=True, slots=True)
class Move:
    """One node that changed its place.

    Attributes:
        node: its name.
        before: its position in the graph as it was, from 0.
        after: its position now.
        reason: a sentence.
    """

    node: str
    before: int
    after: int
    reason: str

    def __str__(self) -> str:
        return f"{self.node}: from {self.before} to {self.after}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Overlap:
    """What ``OverlapPass`` did; ``graph_module.meta["overlap"]``.

    Attributes:
        moves: the nodes that passed a node which keeps its place, or a wait, in the order in which they run now.
        num_gathers: gathers that are issued earlier, buckets counted once.
        num_reductions: other collectives that are issued earlier, likewise.
        num_waits: collectives that are waited for later.
        most_bytes_in_flight: filled by gathers and not yet used, or read by reductions and not yet waited for, at once.
        limits: where ``max_bytes_in_flight`` kept something from moving further, or could not be kept, a sentence each.
    """

    moves: tuple[Move, ...] = ()
    num_gathers: int = 0
    num_reductions: int = 0
    num_waits: int = 0
    most_bytes_in_flight: int = 0
    limits: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        if not self.most_bytes_in_flight and not self.moves:
            return "overlap: nothing to move, the graph has no collective that is waited for elsewhere"
        counts = f"{self.num_gathers} gathers and {self.num_reductions} other collectives issued earlier, {self.num_waits} waited for later"
        limited = f"; max_bytes_in_flight shows in {len(self.limits)} places" if self.limits else ""
        return f"overlap: {counts}, at most {self.most_bytes_in_flight:,} bytes in flight{limited}"

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  {move}" for move in self.moves), *(f"  {limit}" for limit in self.limits)])
