"""The proof after a compile: what stands outside regions still stands where the plan has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torch import fx

from hyperviz.graph.handing import hand_over
from hyperviz.graph.kinds import is_call, is_getitem
from hyperviz.passes.region import REGION
from hyperviz.snapshot import OrderCheck, Plan, steps_of, windows_in

_FIXED = ("collective", "wait", "effect")


class OrderError(RuntimeError):
    """A compiled graph runs something elsewhere than its plan says; the graph that was to be compiled is as it was."""


def check_order(plan: Plan, compiled: fx.Graph) -> OrderCheck:
    """Compare a compiled graph with its plan: every launch, wait, free, send and other effect, against the compute around it.

    The nodes that stay eager for their place in the order cut the sequence of calls into segments. They must follow each other as
    planned, and each segment must hold the same compute; how compute is ordered within a segment changes nothing. Linear.

    Args:
        plan: what was to be compiled.
        compiled: calls each region as one node whose ``meta["hyperviz_region"]`` names its members.

    Raises:
        OrderError: they differ; the message names the first node.
    """
    getitems = {node.name for node in plan.graph.nodes if node.target in ("operator.getitem", "_operator.getitem", "getitem")}
    region_of = plan.region_of()
    fixed = {name for name, role in plan.roles.items() if role in _FIXED and name not in region_of}
    planned = [name for step in steps_of(plan) for name in step if name not in getitems]
    constants = {node.name for node in plan.graph.nodes if node.op == "get_attr"}
    actual = [name for name in _calls(compiled) if name not in getitems and name not in constants]
    segments = list(_segments(planned, fixed)), list(_segments(actual, fixed))
    for (mark, compute), (found, held) in zip(*segments, strict=False):
        _same(mark, found, compute, held)
    if len(segments[0]) != len(segments[1]):
        raise OrderError(f"the compiled graph must run {len(segments[0]) - 1} eager calls in the planned order, got {len(segments[1]) - 1}")
    windows = [window for window in windows_in(plan, actual) if window.inside]
    return OrderCheck(
        num_fixed=len(segments[0]) - 1,
        num_compute=len(planned) - len(segments[0]) + 1,
        num_windows=len(windows),
        num_kept=sum(window.is_kept for window in windows),
        lost=tuple(f"{window.launch}: {window}" for window in windows if not window.is_kept),
    )


def _calls(graph: fx.Graph) -> Iterator[str]:
    """The calls of a compiled graph in the order in which it runs them, regions as their members."""
    for node in graph.nodes:
        if REGION in node.meta:
            yield from node.meta[REGION]
        elif is_call(node) and not is_getitem(node) and node.target is not hand_over:
            yield node.name


def _segments(names: Iterable[str], fixed: set[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Each fixed call with the compute that has run since the one before it; at the end, what is left."""
    since: list[str] = []
    for name in names:
        if name in fixed:
            yield name, frozenset(since)
            since = []
        else:
            since.append(name)
    yield "", frozenset(since)


def _same(mark: str, found: str, compute: frozenset[str], held: frozenset[str]) -> None:
    if mark != found:
        raise OrderError(f"the compiled graph must run {mark or 'nothing'} next, as planned, got {found or 'its end'}")
    where = f"before {mark}" if mark else "at the end"
    if moved := sorted(compute ^ held):
        what = "misses" if moved[0] in compute else "also runs"
        raise OrderError(f"the compiled graph must run the planned compute {where}, but {what} {_some(moved)} there")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
