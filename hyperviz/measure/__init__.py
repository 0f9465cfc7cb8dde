"""Callables → timings, memory, equality."""
