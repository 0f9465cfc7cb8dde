"""The ranks tab: every rank's verdict and times, where they disagree, and what rank 0 really compiled."""

from __future__ import annotations

import ipywidgets as widgets

from hyperviz import render
from hyperviz.snapshot import RankReports, RankResult
from hyperviz.widgets.figures import figure
from hyperviz.widgets.markup import Html, Keyed, table, tag
from hyperviz.widgets.result_tables import equality_table, verdict
from hyperviz.widgets.units import milliseconds, seconds, size

_HEADINGS = ("Rank", "Verdict", "Equal bit for bit", "Eager", "Compiled", "Against eager", "Compiled in", "Peak memory")


def rank_widgets(reports: RankReports) -> list[widgets.Widget]:
    """The figure, the table with what to know of it, and each rank's outputs, folded."""
    outputs = [_folded(f"Rank {one.rank}: {one.equality}", equality_table(one.equality)) for one in reports.ranks]
    return [
        figure(lambda theme: render.plot_ranks(reports, theme=theme), "times of the ranks"),
        widgets.HTML(ranks_table(reports)),
        widgets.HTML(Html("".join(outputs))),
    ]


def ranks_table(reports: RankReports) -> Html:
    """One row for each rank; above it where they ran and on what they disagree, below it what rank 0 compiled."""
    warnings = [tag("p", f"⚠ {sentence}", kind="hv-note hv-disagree", role="alert") for sentence in reports.disagreements]
    notes = [tag("p", note, kind="hv-note") for note in reports.notes]
    rows = [_row(one, one is reports.slowest and reports.num_ranks > 1) for one in reports.ranks]
    lines = table(_HEADINGS, rows, reports.where, numeric=(3, 4, 6, 7), sortable=True)
    drawn = "; as long as no knob is turned, that is what is drawn above and listed under Plan."
    planned = tag("p", "Rank 0 compiled ", tag("b", reports.plan), drawn, kind="hv-hint")
    return Html("".join(warnings) + "".join(notes) + lines + planned)


def _row(one: RankResult, slowest: bool) -> tuple[object, ...]:
    return (
        Keyed(tag("b", f"{one.rank} ◀ slowest", kind="hv-slowest") if slowest else one.rank, one.rank),
        verdict(one.equality.verdict),
        f"{one.equality.num_bitwise} of {len(one.equality.outputs)}",
        _time(one.eager.median_ms),
        _time(one.compiled.median_ms),
        Keyed(one.ratio, one.ratio.median),
        seconds(one.report.seconds),
        Keyed(size(one.compiled.peak_bytes), one.compiled.peak_bytes or -1),
    )


def _time(median_ms: float) -> Keyed:
    return Keyed(milliseconds(median_ms), median_ms)


def _folded(words: str, content: Html) -> Html:
    return tag("details", tag("summary", words), content, kind="hv-how")
