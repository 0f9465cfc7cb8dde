"""Figures in words and rows in columns, for the textual twins of pictures."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Lines in which the cells of a column stand below each other; no line for no row."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def time_words(value_ms: float | None) -> str:
    """A duration, three digits of it; ``"unknown"`` where it is not known."""
    if value_ms is None:
        return "unknown"
    return f"{value_ms:.3g} ms" if value_ms == 0 or value_ms >= 1 else f"{value_ms * 1e3:.3g} µs"


def size_words(num_bytes: int | None) -> str:
    """Bytes in megabytes; ``"unknown"`` where they are not known."""
    return "unknown" if num_bytes is None else f"{num_bytes / 1e6:.3g} MB"


def peak_words(most: int | None, least: int | None) -> str:
    """A peak of memory, with its lower bound where a compiler decides what is materialised."""
    return size_words(most) if most is None or most == least else f"between {size_words(least)} and {size_words(most)}"


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
