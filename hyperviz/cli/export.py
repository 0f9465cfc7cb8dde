"""``hyperviz export``: a saved graph or plan, drawn again."""

from __future__ import annotations

import argparse

import hyperviz as hv
from hyperviz.snapshot import from_json


def export(options: argparse.Namespace) -> int:
    """Reads what ``hv.export(…, "….json")`` wrote and writes it as another suffix says.

    Args:
        options: ``saved``, the JSON file; ``out``, the file to write.

    Returns:
        0.

    Raises:
        ValueError: if the file holds no graph and no plan, or nothing is known of the suffix.
        OSError: if a file cannot be read or written.
    """
    hv.export(from_json(options.saved.read_text(encoding="utf-8")), options.out)
    print(f"wrote {options.out}")
    return 0
