"""Why two regions are not one: what stands between them, what forbids it, and otherwise what it would cost."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from torch import fx

from hyperviz.analysis.balanced import Judged, Limits, figures_of, rejoin
from hyperviz.analysis.joins import join_runs, units_of
from hyperviz.analysis.regions import Regions, annotation_key
from hyperviz.analysis.strategies import find_regions
from hyperviz.analysis.ties import Ties
from hyperviz.snapshot import Apart, Between, JoinCost
from hyperviz.snapshot.columns import counted

Hidden = Mapping[str, "float | None"]
_ANY = 1e18
"""A limit that nothing exceeds; infinity times a duration of 0 is no number."""
_ROUNDING_MS = 1e-6


def explain_apart(
    graph_module: fx.GraphModule,
    first: str,
    second: str,
    *,
    mode: str,
    strategy: str = "runs",
    keep_eager: Iterable[str] = (),
    limits: Limits | None = None,
) -> Apart:
    """Why two regions, or the regions of two nodes, are not one. Compiles nothing and edits nothing.

    Two regions may be one if every call between them may stand on one of its sides. A chain of orders that leads from a member of the
    first through an eager call to a member of the second forbids that: the call would have to run inside. Where none does, what the
    join would cost is estimated as ``"balanced"`` estimates it (``hyperviz.analysis.balanced``).

    Args:
        graph_module: the graph; only read.
        first: name of a region of the plan, as in ``"region_3"``, or of a node.
        second: likewise.
        mode: one of ``hyperviz.snapshot.MODES``.
        strategy: one of ``hyperviz.snapshot.STRATEGIES``.
        keep_eager: as the plan was asked with.
        limits: of ``"balanced"``, also where another strategy is asked about.

    Raises:
        ValueError: a name is neither a region nor a node; the message offers the nearest.
    """
    regions = find_regions(graph_module.graph, mode=mode, strategy=strategy, keep_eager=keep_eager, limits=limits)
    nodes = {node.name: node for node in graph_module.graph.nodes}
    numbers = [_number(name, regions, nodes) for name in (first, second)]
    names = tuple("" if number is None else f"region_{number}" for number in numbers)
    if None in numbers or numbers[0] == numbers[1]:
        return _at_once(regions, nodes, (first, second), names, mode)
    low, high = sorted(number for number in numbers if number is not None)
    question = _Question(graph_module, regions, low, high, strategy, limits or Limits())
    answer = Apart((first, second), f"region_{low}", f"region_{high}", "far", "", num_regions_between=question.num_regions_between)
    return question.answer(answer, tuple(keep_eager), mode)


def _number(name: str, regions: Regions, nodes: Mapping[str, fx.Node]) -> int | None:
    """The number of the region that a name means; None for a node in none."""
    known = [f"region_{number}" for number in range(len(regions.groups))]
    if name in known:
        return known.index(name)
    if name in nodes:
        return next((number for number, group in enumerate(regions.groups) if nodes[name] in group), None)
    near = difflib.get_close_matches(str(name), [*known, *nodes], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name!r} must be a region of the plan or a node of the graph, and is neither{hint}")


def _at_once(regions: Regions, nodes: Mapping[str, fx.Node], asked: tuple[str, str], names: Sequence[str], mode: str) -> Apart:
    """The answer where nothing stands between: one region, or none."""
    if names[0] == names[1] != "":
        sentence = f"{names[0]} is one region" if asked[0] == asked[1] else f"{asked[0]} and {asked[1]} are one region: {names[0]}"
        return Apart(asked, names[0], names[1], "same", f"{sentence}.")
    if mode == "off":
        return Apart(asked, names[0], names[1], "not compiled", "Mode 'off' compiles nothing: there are no regions.")
    reasons = dict.fromkeys(
        f"{name} is in no region: {_no_region(nodes[name], regions)}." for name, region in zip(asked, names, strict=True) if not region
    )
    return Apart(asked, names[0], names[1], "not compiled", " ".join(reasons))


def _no_region(node: fx.Node, regions: Regions) -> str:
    return regions.reasons.get(node) or {"placeholder": "it is an input", "output": "it is the output"}.get(node.op, "it is a constant")


@dataclass(slots=True)
class _Question:
    """Two regions of a graph, the one with the lower number first."""

    graph_module: fx.GraphModule
    regions: Regions
    low: int
    high: int
    strategy: str
    limits: Limits
    num_regions_between: int = 0
    between: tuple[fx.Node, ...] = ()

    def __post_init__(self) -> None:
        units = units_of(self.regions.order, self.regions.groups, lambda _: ())
        places = [number for number, unit in enumerate(units) if unit.is_run]
        stretch = units[places[self.low] + 1 : places[self.high]]
        self.num_regions_between = sum(unit.is_run for unit in stretch)
        self.between = tuple(node for unit in stretch if not unit.is_run for node in unit.nodes)

    @property
    def groups(self) -> tuple[list[fx.Node], list[fx.Node]]:
        return self.regions.groups[self.low], self.regions.groups[self.high]

    def answer(self, apart: Apart, keep_eager: tuple[str, ...], mode: str) -> Apart:
        """The sentence and what it rests on."""
        ties = Ties(self.graph_module.graph, data_only=self.strategy == "merged")
        runs = self.regions
        if mode == "regional" and self.strategy in ("balanced", "merged"):
            runs = find_regions(self.graph_module.graph, mode=mode, keep_eager=keep_eager)
        apart = replace(apart, between=self._between(ties))
        if differing := self._annotations():
            return replace(apart, why="annotation", sentence=f"No: {differing}.")
        if path := ties.forbidding(*self.groups, self.regions.groups, runs.reasons):
            held = next(tie.second for tie in path if self._is_eager(tie.second, runs))
            words = f"No: {held} runs outside regions, and must stay behind {apart.first} and ahead of {apart.second}."
            return replace(apart, why="order", path=path, sentence=words)
        if self.num_regions_between:
            return replace(apart, sentence=self._far(apart))
        if mode != "regional" or self.strategy not in ("runs", "balanced"):
            words = f"No order forbids it: mode {mode!r} with strategy {self.strategy!r} groups them so."
            return replace(apart, why="strategy", sentence=words)
        return _priced(apart, self, runs)

    def _is_eager(self, name: str, runs: Regions) -> bool:
        return any(node.name == name for node in runs.reasons)

    def _annotations(self) -> str:
        if self.strategy != "annotated":
            return ""
        first, second = (next(filter(None, map(annotation_key, group)), None) for group in self.groups)
        return "" if first == second else "each has an annotation of its own, and compiles with its own settings"

    def _between(self, ties: Ties) -> tuple[Between, ...]:
        first, second = map(set, self.groups)
        loose = set(self.between)
        return tuple(
            Between(
                node.name,
                self.regions.placements[node].role,
                self.regions.reasons.get(node, ""),
                ties.chain(first, {node}, loose),
                ties.chain([node], second, loose),
            )
            for node in self.between
        )

    def _far(self, apart: Apart) -> str:
        regions, calls = counted(self.num_regions_between, "region"), counted(len(self.between), "eager call")
        return (
            f"No order forbids it, but {apart.first} and {apart.second} are no neighbours: {regions} and {calls} stand between. "
            f"Ask about {apart.first} and region_{self.low + 1} for what parts these."
        )


def _priced(apart: Apart, question: _Question, runs: Regions) -> Apart:
    """What joining two neighbours would cost, and whether the limits of ``"balanced"`` allow it."""
    limits, graph_module = question.limits, question.graph_module
    before = Judged.of(runs, graph_module, figures_of(limits))
    units, flights = before.units(), before.flights()
    starts, ends = _starts(question, runs, [number for number, unit in enumerate(units) if unit.is_run])
    now, then = (before.joined(join_runs(units, [], _ANY, frozenset(one)), units) for one in (starts, starts - ends))
    costs = tuple(_costs(before.hidden_ms, now.hidden_ms, then, limits))
    ceiling = float("inf") if before.peak_bytes is None else before.peak_bytes * (1 + limits.peak)
    refusals = _refusals(costs, (then.peak_bytes or 0) > ceiling, bool(before.blind(units, flights) & ends), limits)
    words = f"No order forbids it, but strategy 'balanced' does not allow it: {' and '.join(refusals)}."
    if not refusals:
        words = _allowed(_are_joined(rejoin(runs, graph_module, limits), question), question.strategy)
    return replace(
        apart,
        why="limits" if refusals else "strategy",
        sentence=words,
        costs=costs,
        label=f"estimated for {before.hardware.title}",
        peak_bytes=now.peak_bytes,
        joined_peak_bytes=then.peak_bytes,
    )


def _costs(was: Hidden, hidden: Hidden, then: Judged, limits: Limits) -> Iterator[JoinCost]:
    """The collectives that hide less than as planned, with what limits say to what they then have lost since runs."""
    for one in then.timeline.collectives:
        before, now, left = ((times[one.launch] or 0.0) for times in (was, hidden, then.hidden_ms))
        if now - left > _ROUNDING_MS:
            allowed = before - left <= limits.hidden * (one.duration_ms or 0.0) + _ROUNDING_MS
            yield JoinCost(one.launch, one.duration_ms, hidden[one.launch], then.hidden_ms[one.launch], allowed)


def _starts(question: _Question, runs: Regions, units: Sequence[int]) -> tuple[set[int], set[int]]:
    """Units of the runs that begin a region as planned, and of those that no longer do once the two are one."""
    run_of = {node: number for number, group in enumerate(runs.groups) for node in group}
    held = [sorted({run_of[node] for node in group}) for group in question.regions.groups]
    inside = {number for numbers in held for number in numbers[1:]}
    joined = range(held[question.low][-1] + 1, held[question.high][0] + 1)
    return {units[number] for number in range(len(runs.groups)) if number not in inside}, {units[number] for number in joined}


def _refusals(costs: Iterable[JoinCost], too_high: bool, blind: bool, limits: Limits) -> list[str]:
    dear = [one.launch for one in costs if not one.allowed]
    found = []
    if dear:
        more = f" and {len(dear) - 1} more" if len(dear) > 1 else ""
        found.append(f"{dear[0]}{more} would be exposed for longer than balance_hidden={limits.hidden:g} allows")
    if too_high:
        found.append(f"the peak of live bytes would grow by more than balance_peak={limits.peak:g} allows")
    if blind:
        found.append("a collective between them takes a time that is not known")
    return found


def _are_joined(regions: Regions, question: _Question) -> bool:
    first, second = (group[-1] for group in question.groups)
    return any(first in group and second in group for group in regions.groups)


def _allowed(joined: bool, strategy: str) -> str:
    if joined and strategy == "balanced":
        return "No order forbids it, and it keeps the limits: what stands between holds nothing to fuse, and stays eager."
    if joined:
        return "Nothing forbids it: strategy 'runs' ends a region at every eager call, strategy 'balanced' would join them."
    return (
        "Nothing forbids it, and by itself it keeps the limits; strategy 'balanced', which joins from left to right, spends them elsewhere."
    )
