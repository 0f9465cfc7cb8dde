"""What one compile brought, and what its numbers say in a few words."""

from __future__ import annotations

from dataclasses import dataclass

from hyperviz.snapshot import CompileReport, Equality, Plan, RankReports, Ratio, RegionReport, Timings
from hyperviz.widgets.backend import Knobs


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished compile.

    Attributes:
        knobs: what it was asked with.
        plan: what it compiled.
        report: how that went.
        equality: how its outputs relate to the eager ones; None until they were compared.
        timings: how long both take; None until they were timed.
        ranks: what every rank found, where real ranks ran: then equality is that of the worst, and timings are those of the slowest.
    """

    knobs: Knobs
    plan: Plan
    report: CompileReport
    equality: Equality | None = None
    timings: Timings | None = None
    ranks: RankReports | None = None


def same_regions(first: Plan, second: Plan) -> bool:
    """Whether two plans compile the same nodes together, whatever the settings."""
    return first.roles == second.roles and [region.nodes for region in first.regions] == [region.nodes for region in second.regions]


def effect_on_plan(before: Plan, after: Plan) -> str:
    """What a changed setting did to the plan, in one sentence."""
    if not after.regions:
        return f"No effect: mode {after.mode!r} compiles no region, and settings belong to regions."
    if same_regions(before, after):
        return "The regions stay as they are: whether the setting has an effect shows when it is compiled."
    return f"The plan changed: {len(before.regions)} → {len(after.regions)} regions."


def effect_of_settings(before: Outcome | None, after: Outcome) -> str:
    """What changed settings did between two compiles of the same mode and strategy; empty where something else changed too."""
    if before is None or before.knobs.settings == after.knobs.settings or not same_regions(before.plan, after.plan):
        return ""
    keys = sorted(key for key in {**before.knobs.settings, **after.knobs.settings} if _value(before, key) != _value(after, key))
    effects = [*_report_effect(before, after), *_equality_effect(before, after), *_timing_effect(before, after)]
    seen = "; ".join(effects) or "no effect was seen: the same regions, the same equality, no difference in time shown"
    return f"{', '.join(keys)}: {seen}."


def _value(outcome: Outcome, key: str) -> object:
    return outcome.knobs.settings.get(key, _ABSENT)


_ABSENT = object()


def _report_effect(before: Outcome, after: Outcome) -> list[str]:
    old, new = ([_lasting(region) for region in outcome.report.regions] for outcome in (before, after))
    return [] if old == new else [f"{sum(a != b for a, b in zip(old, new, strict=False))} of {len(new)} regions were compiled differently"]


def _lasting(region: RegionReport) -> tuple[object, ...]:
    """What a report says about a region beyond how long it took and what a cache happened to hold."""
    return region.name, region.num_nodes, region.reused_from, region.error


def _equality_effect(before: Outcome, after: Outcome) -> list[str]:
    if before.equality is None or after.equality is None or before.equality.outputs == after.equality.outputs:
        return []
    return [f"equality went from {before.equality} to {after.equality}"]


def _timing_effect(before: Outcome, after: Outcome) -> list[str]:
    """Speed-ups over eager of two runs, compared by their intervals: the machine may have changed in between."""
    old, new = speedup(before.timings), speedup(after.timings)
    if old is None or new is None or not (old.high < new.low or new.high < old.low):
        return []
    return [f"the speed-up over {new.first} went from {old.median:.2f}× to {new.median:.2f}×"]


def speedup(timings: Timings | None) -> Ratio | None:
    """How much faster the last candidate is than the first; None where there are not two."""
    if timings is None or len(timings.timings) < 2:
        return None
    return timings.ratio(timings.timings[0].name, timings.timings[-1].name)
