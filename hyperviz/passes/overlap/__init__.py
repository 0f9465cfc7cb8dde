"""When collectives start and when the graph waits for them."""

from hyperviz.passes.overlap.overlap_pass import OverlapPass
from hyperviz.passes.overlap.plan import Move, Overlap

__all__ = ["Move", "Overlap", "OverlapPass"]
