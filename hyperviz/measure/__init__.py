"""Callables → timings, memory, equality."""

from hyperviz.measure.benchmark import benchmark
from hyperviz.measure.compare import compare

__all__ = ["benchmark", "compare"]
