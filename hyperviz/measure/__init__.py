"""Callables → timings, memory, equality."""

from hyperviz.measure.compare import compare

__all__ = ["compare"]
