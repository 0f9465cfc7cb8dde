"""How a compiled graph hands the inputs of a region over, so that memory goes as soon as it has been read."""

from __future__ import annotations


def hand_over(*values: object) -> list[object]:
    """A list that the callee empties; behind it the caller holds nothing that it does not read again itself."""
    return list(values)
