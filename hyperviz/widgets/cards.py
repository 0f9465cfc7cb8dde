"""The three questions on top of the explorer, answered in big words: what is compiled, is it the same, what did it buy."""

from __future__ import annotations

from hyperviz.snapshot import Equality, Plan, RankReports, Timings
from hyperviz.widgets.markup import Html, tag
from hyperviz.widgets.outcome import Outcome, speedup
from hyperviz.widgets.units import count, milliseconds, seconds

VERDICT_WORDS = {
    "bitwise": ("=", "Bitwise equal", "good"),
    "rounding": ("≈", "Equal up to rounding", "good"),
    "random": ("~", "Random by design", "note"),
    "structural": ("≠", "Different structure", "bad"),
    "wrong": ("✗", "Wrong", "bad"),
}
"""Verdict → its sign, its words, and how it is coloured."""


def cards(plan: Plan, outcome: Outcome | None, stale: bool, where: str = "") -> Html:
    """The row of three cards; what belongs to an earlier compile is marked so, in words and in looks.

    Above them stands, where the graph was not run, that it was not; and ``where`` Compile runs, if real ranks do it.
    """
    age = f"of an earlier compile: {outcome.knobs}" if outcome and stale else ""
    equality, timings = (outcome.equality, outcome.timings) if outcome else (None, None)
    ranks = outcome.ranks if outcome else None
    caveat = "" if where else plan.graph.caveat
    row = _plan_card(plan, outcome, stale), _equality_card(equality, age, caveat, ranks), _timings_card(timings, age, caveat, ranks)
    return Html(_standing(plan, ranks, where) + tag("div", *row, kind="hv-cards"))


def _standing(plan: Plan, ranks: RankReports | None, where: str) -> Html:
    """Whether what is drawn was run, and on what."""
    if plan.graph.caveat:
        will = tag("span", f" — Compile runs it on {where}", kind="hv-hint") if where else ""
        return tag("p", plan.graph.caveat, will, kind="hv-not-run")
    return tag("p", f"Compiled and run on {ranks.where}", kind="hv-ran") if ranks else Html("")


def _card(question: str, sign: str, words: str, detail: str, look: str, age: str = "") -> Html:
    badge = tag("span", age, kind="hv-chip", title="Press Compile to renew") if age else Html("")
    answer = tag("strong", tag("span", sign, kind="hv-sign", aria_hidden="true") if sign else Html(""), words)
    kind = f"hv-card hv-{look}{' hv-stale' if age else ''}"
    return tag("section", tag("h4", question), answer, tag("p", detail), badge, kind=kind, aria_label=question)


def _plan_card(plan: Plan, outcome: Outcome | None, stale: bool) -> Html:
    calls = plan.num_compiled + len(plan.eager)
    if not plan.regions:
        words, detail = "Nothing", f"mode {plan.mode}: all {count(calls, 'call')} stay eager"
    else:
        words = count(len(plan.regions), "region")
        detail = f"{plan.num_compiled:,} of {count(calls, 'call')} compiled, {len(plan.eager):,} stay eager"
    if outcome and not stale:
        detail += f"; compiled in {seconds(outcome.report.seconds)}"
        detail += f"; {outcome.report.order}" if outcome.report.order else ""
    return _card("What is compiled?", "", words, detail, "note")


def _equality_card(equality: Equality | None, age: str, caveat: str, ranks: RankReports | None) -> Html:
    question = "Is it the same?"
    if equality is None and caveat:
        return _card(question, "", "Not run", caveat, "idle")
    if equality is None:
        return _card(question, "", "Not known yet", "Compile compares every output with the eager one", "idle")
    sign, words, look = VERDICT_WORDS.get(equality.verdict, ("?", equality.verdict, "note"))
    largest = max((output.max_abs for output in equality.outputs if output.max_abs), default=None)
    detail = f"{equality.num_bitwise} of {count(len(equality.outputs), 'output')} equal bit for bit"
    detail += f"; the largest difference is {largest:.2g}" if largest else ""
    if ranks:
        detail = f"{_on_ranks(ranks)}: {detail}"
    return _card(question, sign, words, detail, look, age)


def _on_ranks(ranks: RankReports) -> str:
    """Whose verdict it is."""
    verdicts = {one.equality.verdict for one in ranks.ranks}
    if len(verdicts) > 1:
        return f"ranks disagree, the worst is rank {ranks.worst.rank} of {ranks.num_ranks}"
    return f"on each of {ranks.num_ranks} ranks; on rank 0" if ranks.num_ranks > 1 else "on rank 0"


def _timings_card(timings: Timings | None, age: str, caveat: str, ranks: RankReports | None) -> Html:
    question = "What did it buy?"
    ratio = speedup(timings)
    if timings is None and caveat:
        return _card(question, "", "Not run", caveat, "idle")
    if timings is None or ratio is None:
        return _card(question, "", "Not known yet", "Compile times both side by side", "idle")
    first, last = timings.timings[0], timings.timings[-1]
    times = f"{milliseconds(first.median_ms)} → {milliseconds(last.median_ms)}"
    detail = f"{times}; ratio {ratio.median:.2f}, {ratio.confidence:.0%} interval {ratio.low:.2f}–{ratio.high:.2f}"
    if ranks:
        slowest = f"rank {ranks.slowest.rank}, the slowest of {ranks.num_ranks}" if ranks.num_ranks > 1 else "rank 0"
        detail = f"{slowest}: {detail}" + (f"; {ranks.link}" if ranks.link else "")
    if ratio.low <= 1.0 <= ratio.high:
        return _card(question, "", "No difference shown", detail, "note", age)
    faster = ratio.median > 1
    words = f"{ratio.median:.2f}× faster" if faster else f"{1 / ratio.median:.2f}× slower"
    return _card(question, "", words, detail, "good" if faster else "bad", age)
