"""The tables of the report page: every number of a study, with the sentences that say what it means."""

from __future__ import annotations

from collections.abc import Mapping

from hyperviz.render.communication import communication
from hyperviz.render.markup import Html, join, table, tag
from hyperviz.render.numbers import milliseconds, scaled, scientific
from hyperviz.render.plot_equality import MARKS
from hyperviz.snapshot import CompileReport, Equality, Plan, RankReports, Timings

_SIGNS = {"bitwise": "=", "rounding": "≈", "random": "?", "structural": "≠", "wrong": "✗"}


def summary(
    plans: Mapping[str, Plan], timings: Timings | None, equalities: Mapping[str, Equality], reports: Mapping[str, CompileReport]
) -> Html:
    """One row for each label: what was compiled, what that took, what it bought, and whether it is the same."""
    measured = {timing.name: timing for timing in timings.timings} if timings else {}
    labels = list(dict.fromkeys([*plans, *reports, *measured, *equalities]))
    first = next(iter(measured), "")
    rows = []
    for label in labels:
        plan, report, timing = plans.get(label), reports.get(label), measured.get(label)
        ratio = timings.ratio(first, label) if timings and timing and label != first else None
        rows.append(
            (
                tag("strong", label),
                len(plan.regions) if plan else None,
                f"{plan.num_compiled:,} of {len(plan.graph):,}" if plan else None,
                f"{report.seconds:.1f} s" if report else None,
                milliseconds(timing.median_ms) if timing else _not_run(plan),
                ratio if ratio else ("baseline" if timing else None),
                scaled(timing.peak_bytes, "B") if timing else None,
                verdict(equalities[label].verdict) if label in equalities else _not_run(plan),
            )
        )
    headings = ("", "Regions", "Nodes compiled", "Compiled in", "Median step", f"Against {first or 'the first'}", "Peak memory", "Results")
    return table("At a glance", headings, rows, numeric=(1, 2, 3, 4, 6)) if rows else Html("")


def _not_run(plan: Plan | None) -> str | None:
    return "not run" if plan and plan.graph.caveat else None


def verdict(word: str) -> Html:
    """A verdict as a mark and words."""
    return tag("span", f"{_SIGNS[word]} {MARKS[word][2]}", class_=f"verdict {word}")


def regions(label: str, plan: Plan) -> Html:
    """The regions of a plan, and what stays eager and why."""
    rows = [
        (
            region.name,
            region.phase,
            len(region),
            scaled(region.flops, "FLOP"),
            scaled(region.bytes_in, "B"),
            scaled(region.bytes_out, "B"),
            region.nodes[0] if region.nodes else "",
            region.nodes[-1] if region.nodes else "",
        )
        for region in plan.regions
    ]
    headings = ("Region", "Phase", "Nodes", "Work", "Reads", "Writes", "First node", "Last node")
    kept = [(name, plan.roles[name], reason) for name, reason in plan.eager.items()]
    return join(
        [
            *(tag("p", note, class_="note") for note in plan.notes),
            table(f"{label}: regions in execution order", headings, rows, numeric=(2, 3, 4, 5)) if rows else tag("p", "No regions."),
            table(f"{label}: what stays eager, and why", ("Node", "Role", "Reason"), kept) if kept else "",
        ]
    )


def collectives(label: str, plan: Plan) -> Html:
    """Every collective of a plan with its wait, and what of its window is kept."""
    rows = [
        (
            f"{row.number} {row.collective.kind}",
            row.phase,
            row.what,
            row.group,
            scaled(row.collective.payload_bytes, "B"),
            row.collective.bucket,
            row.collective.launch,
            ", ".join(row.collective.waits),
            len(row.collective.compute_inside),
            row.window,
        )
        for row in communication(plan)
    ]
    headings = ("Collective", "Phase", "Moves", "Group", "Payload", "Bucket", "Launch", "Wait", "Nodes at work inside", "Window")
    return table(f"{label}: collectives in the order of their launches", headings, rows, numeric=(4, 8))


def compile_report(label: str, report: CompileReport) -> Html:
    """How every region was compiled."""
    rows = [(one.name, one.num_nodes, f"{one.seconds:.3f} s", one.reused_from or "", one.cache, one.error or "") for one in report.regions]
    headings = ("Region", "Nodes", "Compiled in", "Shares the artifact of", "Inductor's cache", "Error")
    caption = f"{label}: compiled in {report.seconds:.2f} s"
    order = tag("p", f"Checked after compiling: {report.order}.") if report.order else ""
    return join([order, *(tag("p", note, class_="note") for note in report.notes), table(caption, headings, rows, numeric=(1, 2))])


def timing_tables(timings: Timings) -> Html:
    """Medians, intervals, ratios, what was controlled, and every round."""
    first = timings.timings[0].name if timings.timings else ""
    rows = [
        (
            timing.name,
            f"{timing.median_ms:.4g}",
            f"[{timing.low_ms:.4g}, {timing.high_ms:.4g}]",
            timings.ratio(first, timing.name) if timing.name != first else "baseline",
            scaled(timing.peak_bytes, "B"),
            len(timing.samples_ms),
        )
        for timing in timings.timings
    ]
    headings = ("Candidate", "Median, ms", f"{timings.confidence:.0%} interval, ms", f"Against {first}", "Peak memory", "Rounds")
    rounds = zip(*(timing.samples_ms for timing in timings.timings), strict=False)
    samples = [(number, *(f"{sample:.4g}" for sample in samples)) for number, samples in enumerate(rounds, 1)]
    names = [timing.name for timing in timings.timings]
    every = table("Every round, in milliseconds", ("Round", *names), samples, numeric=range(len(names) + 1))
    return join(
        [
            table("Time of one step", headings, rows, numeric=(1, 2, 4, 5)),
            table("What was controlled, and what was found", ("", ""), timings.environment.items()),
            tag("details", tag("summary", "Every round"), every),
        ]
    )


def ranks_table(ranks: RankReports) -> Html:
    """One row for each rank, and before them where ranks disagree."""
    rows = [
        (
            one.rank,
            verdict(one.equality.verdict),
            f"{one.equality.num_bitwise} of {len(one.equality.outputs)}",
            milliseconds(one.eager.median_ms),
            milliseconds(one.compiled.median_ms),
            one.ratio,
            f"{one.report.seconds:.1f} s",
            scaled(one.compiled.peak_bytes, "B"),
            "slowest" if one is ranks.slowest and ranks.num_ranks > 1 else "",
        )
        for one in ranks.ranks
    ]
    headings = ("Rank", "Results", "Equal bit for bit", "Eager", "Compiled", "Against eager", "Compiled in", "Peak memory", "")
    notes = [tag("p", sentence, class_="note") for sentence in (*ranks.disagreements, *ranks.notes)]
    return join([*notes, table(ranks.where, headings, rows, numeric=(0, 3, 4, 6, 7))])


def equality_table(label: str, equality: Equality) -> Html:
    """Every output's verdict and differences."""
    rows = [
        (
            output.name,
            verdict(output.verdict),
            f"{output.mismatched:,} of {output.total:,}",
            None if output.max_ulp is None else f"{output.max_ulp:,}",
            scientific(output.max_abs),
            scientific(output.max_rel),
            output.first if output.first == output.second else f"{output.first} / {output.second}",
            output.reason,
        )
        for output in equality.outputs
    ]
    headings = ("Output", "Verdict", "Elements that differ", "Largest ulp", "Largest absolute", "Largest relative", "What", "Why")
    choices = f"seed {equality.seed}, NaN compared as {equality.nan}, signed zeros compared as {equality.zeros}"
    caption = f"{label}: {equality.labels[1]} against {equality.labels[0]}; {choices}"
    return join([*(tag("p", note, class_="note") for note in equality.notes), table(caption, headings, rows, numeric=(2, 3, 4, 5))])
