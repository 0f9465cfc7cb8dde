"""Reading and editing FX: node kinds, phases, copies, fake values, taking a snapshot."""

from hyperviz.graph.describe import take_snapshot
from hyperviz.graph.provenance import write_provenance

__all__ = ["take_snapshot", "write_provenance"]
