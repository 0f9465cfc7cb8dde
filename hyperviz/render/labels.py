"""How long a text is when drawn, and where it is cut: one font, whose letters all have one width."""

from __future__ import annotations

import unicodedata

FONT_SIZE = 11.0
SMALL_SIZE = 9.0
MAX_CELLS = 24
LETTER = 0.602
"""Width of a letter over the font size in the common monospaced fonts: Menlo, DejaVu Sans Mono, Liberation Mono, Courier."""


def cells(text: str) -> int:
    """How many letter widths a text takes: two for a wide character (CJK, emoji), none for a combining or invisible one."""
    return sum(_cells_of(character) for character in text)


def width(text: str, size: float = FONT_SIZE) -> float:
    """Drawn width of a text in pixels."""
    return cells(text) * LETTER * size


def cut(text: str, limit: int = MAX_CELLS) -> str:
    """The text on one line, without control characters, its middle replaced by … where it is longer than ``limit`` letters.

    Both ends are kept because a node's number stands at its end.

    >>> cut("native_layer_norm_backward_default_12", 20)
    'native_laye…fault_12'
    """
    line = clean(text[: 4 * limit] + text[-4 * limit :] if len(text) > 8 * limit else text)
    if cells(line) <= limit:
        return line
    head, tail = (limit + 2) // 2, limit - (limit + 2) // 2 - 1
    return _take(line, head) + "…" + _take(line[::-1], tail)[::-1]


def tail(text: str, limit: int = MAX_CELLS) -> str:
    """Like ``cut``, for a dotted name: its last parts are kept whole where they fit.

    >>> tail("transformer.h.11.attn.c_proj.weight", 16)
    '…c_proj.weight'
    """
    line = clean(text[-4 * limit :])
    if len(line) == len(text) and cells(line) <= limit:
        return line
    parts = line.split(".")
    while len(parts) > 1 and cells(".".join(parts)) >= limit:
        parts.pop(0)
    return "…" + cut(".".join(parts), limit - 1)


def clean(text: str) -> str:
    """The text with every control, surrogate and direction-changing character replaced by a space: safe in XML and on one line."""
    return "".join(" " if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp") else character for character in text)


def _cells_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _take(text: str, limit: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _cells_of(character)
        if taken > limit:
            return text[:index]
    return text
