"""A study as a table that a terminal shows and a person can paste into a mail."""

from __future__ import annotations

from hyperviz.cli.study import EAGER, Study

HEADINGS = ("mode", "regions", "nodes compiled", "compile", "step: median [interval]", "against off", "the same as off?", "peak memory")


def table(study: Study) -> str:
    """One line for each label: what is compiled, what that took, what it bought, and whether the results are the same."""
    rows = [HEADINGS, *(_row(study, label) for label in study.plans)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _row(study: Study, label: str) -> tuple[str, ...]:
    plan, timing = study.plans[label], study.timings[label]
    return (
        label,
        str(len(plan.regions)),
        f"{plan.num_compiled} of {len(plan.graph)}",
        f"{study.reports[label].seconds:.1f} s",
        f"{timing.median_ms:.2f} ms [{timing.low_ms:.2f}, {timing.high_ms:.2f}]",
        "" if label == EAGER else str(study.timings.ratio(EAGER, label)),
        "" if label == EAGER else str(study.equalities[label]),
        "not measured" if timing.peak_bytes is None else f"{timing.peak_bytes / 1e6:.1f} MB",
    )
