"""Numbers as people read them: sizes, counts, times."""

from __future__ import annotations

_PREFIXES = ("", "k", "M", "G", "T", "P")


def scaled(value: float | None, unit: str) -> str:
    """Three digits and a decimal prefix; a dash for what is not known.

    >>> scaled(1234, "B"), scaled(135.7e6, "B"), scaled(0, "FLOP"), scaled(None, "B")
    ('1.23 kB', '136 MB', '0 FLOP', '–')
    """
    if value is None:
        return "–"
    index = 0
    while abs(value) >= 999.5 and index < len(_PREFIXES) - 1:
        value, index = value / 1000, index + 1
    return f"{value:.3g} {_PREFIXES[index]}{unit}"


def milliseconds(value: float) -> str:
    """Three digits.

    >>> milliseconds(0.01234), milliseconds(12.345), milliseconds(1234.5)
    ('0.0123 ms', '12.3 ms', '1234 ms')
    """
    return f"{value:.0f} ms" if value >= 999.5 else f"{value:.3g} ms"


def duration(value: float | None) -> str:
    """Three digits of milliseconds, or of microseconds below one; in words what is not known.

    >>> duration(12.345), duration(0.01234), duration(0.0), duration(None)
    ('12.3 ms', '12.3 µs', '0 ms', 'unknown')
    """
    if value is None:
        return "unknown"
    return f"{value * 1000:.3g} µs" if 0 < value < 0.9995 else milliseconds(value)


def scientific(value: float | None) -> str:
    """Two digits and an exponent where the number is small or large.

    >>> scientific(4.8e-7), scientific(0.0), scientific(12.0), scientific(None)
    ('4.8e-07', '0', '12', '–')
    """
    return "–" if value is None else f"{value:.2g}"


def plural(count: int, noun: str) -> str:
    """A count and its noun.

    >>> plural(1, "region"), plural(3, "region")
    ('1 region', '3 regions')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
