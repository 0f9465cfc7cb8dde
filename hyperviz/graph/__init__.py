"""Reading and editing FX: node kinds, phases, copies, fake values, taking a snapshot."""

from hyperviz.graph.calm import calm
from hyperviz.graph.copies import copy_graph_module, own_custom
from hyperviz.graph.describe import take_snapshot
from hyperviz.graph.provenance import write_provenance
from hyperviz.graph.values import check_placeholders, fake_mode_of, propagate

__all__ = [
    "calm",
    "check_placeholders",
    "copy_graph_module",
    "fake_mode_of",
    "own_custom",
    "propagate",
    "take_snapshot",
    "write_provenance",
]
