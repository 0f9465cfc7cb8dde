"""Numbers as people read them: durations, sizes, counts."""

from __future__ import annotations


def seconds(value: float) -> str:
    """A duration in seconds.

    >>> seconds(0.034), seconds(4.21), seconds(75), seconds(3700)
    ('34 ms', '4.2 s', '1 min 15 s', '1 h 1 min')
    """
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def milliseconds(value: float) -> str:
    """A duration in milliseconds, three digits of it.

    >>> milliseconds(0.01234), milliseconds(12.34), milliseconds(1234)
    ('0.0123 ms', '12.3 ms', '1234 ms')
    """
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"


def size(num_bytes: int | None) -> str:
    """Bytes with a decimal prefix; a dash where they are not known.

    >>> size(512), size(135_700_000), size(None)
    ('512 B', '136 MB', '—')
    """
    return "—" if num_bytes is None else _scaled(num_bytes, "B")


def flops(value: int | None) -> str:
    """Floating point operations with a decimal prefix; a dash where they are not known.

    >>> flops(2_500_000)
    '2.5 MFLOP'
    """
    return "—" if value is None else _scaled(value, "FLOP")


def count(value: int, noun: str) -> str:
    """A number and its noun.

    >>> count(1, "region"), count(1200, "node")
    ('1 region', '1,200 nodes')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def _scaled(value: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G", "T", "P"):
        if value < 999.5:
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    return f"{value:,.0f} E{unit}"
