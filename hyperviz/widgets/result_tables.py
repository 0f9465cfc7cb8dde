"""The tables of the explorer's tabs: the same facts as the pictures, to be read, sorted out and copied."""

from __future__ import annotations

from collections import Counter

from hyperviz.snapshot import CompileReport, Equality, OrderCheck, Plan, Timings
from hyperviz.widgets.cards import VERDICT_WORDS
from hyperviz.widgets.markup import Html, table, tag
from hyperviz.widgets.outcome import speedup
from hyperviz.widgets.units import flops, milliseconds, seconds, size


def plan_tables(plan: Plan) -> Html:
    """Regions, then what stays eager and why, then the plan's sentences."""
    notes = [tag("p", note, kind="hv-note") for note in plan.notes]
    return tag("div", *notes, _regions(plan), _eager(plan), kind="hv-plan")


def _regions(plan: Plan) -> Html:
    if not plan.regions:
        return tag("p", f"No region: mode {plan.mode!r} compiles nothing.", kind="hv-hint")
    modules = {node.name: node.module_path for node in plan.graph.nodes}
    rows = [
        (
            region.name,
            region.phase,
            len(region),
            flops(region.flops),
            size(region.bytes_in),
            size(region.bytes_out),
            _span(region.nodes, modules),
        )
        for region in plan.regions
    ]
    return table(
        ("Region", "Phase", "Nodes", "Work", "Reads", "Writes", "Modules"), rows, "Regions, in execution order", numeric=(2, 3, 4, 5)
    )


def _span(names: tuple[str, ...], modules: dict[str, str]) -> str:
    """Where a region's nodes come from: the modules, most nodes first."""
    counts = Counter(modules[name] for name in names if modules[name]).most_common()
    return ", ".join(module for module, _ in counts[:3]) + (f" and {len(counts) - 3} more" if len(counts) > 3 else "")


def _eager(plan: Plan) -> Html:
    if not plan.eager:
        return Html("")
    nodes = plan.graph.by_name()
    rows = [(name, plan.roles.get(name, ""), nodes[name].target, reason) for name, reason in plan.eager.items()]
    return table(("Node", "Role", "Operator", "Why it stays eager"), rows, "Eager nodes, in execution order")


def timings_table(timings: Timings) -> Html:
    """One row per candidate, and how it was measured."""
    rows = [
        (
            one.name,
            milliseconds(one.median_ms),
            f"{milliseconds(one.low_ms)} – {milliseconds(one.high_ms)}",
            len(one.samples_ms),
            size(one.peak_bytes),
        )
        for one in timings.timings
    ]
    ratio = speedup(timings)
    words = tag("p", f"{ratio.second} over {ratio.first}: {ratio}", kind="hv-note") if ratio else Html("")
    how = tag("p", " · ".join(f"{key}: {value}" for key, value in timings.environment.items()))
    how = tag("details", tag("summary", "how it was measured"), how, kind="hv-hint hv-how")
    interval = f"{timings.confidence:.0%} interval"
    return Html(
        words + table(("Candidate", "Median", interval, "Rounds", "Peak memory"), rows, "Time per step", numeric=(1, 2, 3, 4)) + how
    )


def report_table(report: CompileReport) -> Html:
    """One row per compiled region."""
    notes = [tag("p", note, kind="hv-note") for note in report.notes]
    if report.order:
        notes.insert(0, sentence_of_order(report.order))
    rows = [
        (one.name, one.num_nodes, "—" if one.reused_from else seconds(one.seconds), one.cache, one.reused_from or "", one.error or "")
        for one in report.regions
    ]
    caption = f"Compiled in {seconds(report.seconds)}"
    return Html(
        "".join(notes) + table(("Region", "Nodes", "Time", "Cache", "Shares the artifact of", "Error"), rows, caption, numeric=(1, 2))
    )


def sentence_of_order(order: OrderCheck) -> Html:
    """What was found when the compiled graph was compared with the plan, and what collectives have lost."""
    sign = tag("span", "✓ ", kind="hv-sign", aria_hidden="true")
    lost = [tag("li", sentence) for sentence in order.lost[:20]]
    folded = tag("details", tag("summary", "what the others have lost"), tag("ul", *lost), kind="hv-how") if lost else Html("")
    return Html(tag("p", sign, f"Checked after compiling: {order}.", kind="hv-order") + folded)


def equality_table(equality: Equality) -> Html:
    """One row per output, the worst first."""
    order = list(VERDICT_WORDS)
    outputs = sorted(equality.outputs, key=lambda one: -order.index(one.verdict) if one.verdict in order else -len(order))
    rows = [
        (
            one.name,
            verdict(one.verdict),
            f"{one.mismatched:,} of {one.total:,}",
            _number(one.max_ulp),
            _number(one.max_abs),
            _number(one.max_rel),
            one.reason,
        )
        for one in outputs
    ]
    headings = ("Output", "Verdict", "Differing elements", "Largest ulp", "Largest absolute", "Largest relative", "Why")
    notes = [tag("p", note, kind="hv-note") for note in equality.notes]
    return Html("".join(notes) + table(headings, rows, f"{equality.labels[1]} against {equality.labels[0]}", numeric=(2, 3, 4, 5)))


def verdict(word: str) -> Html:
    """A verdict as its sign and words."""
    sign, words, look = VERDICT_WORDS.get(word, ("?", word, "note"))
    return tag("span", f"{sign} {words}", kind=f"hv-verdict hv-{look}")


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
