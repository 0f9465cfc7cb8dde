"""What several ranks found when each compiled, compared and timed its own part of one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hyperviz.snapshot.compilation import CompileReport
from hyperviz.snapshot.equality import VERDICTS, Equality
from hyperviz.snapshot.plan import Plan
from hyperviz.snapshot.timing import Ratio, Timing, Timings

_SAME = frozenset({"bitwise", "rounding"})


@dataclass(frozen=True, slots=True)
class RankResult:
    """What one rank found.

    Attributes:
        rank: from 0.
        report: how it compiled.
        equality: how its compiled outputs relate to its eager ones.
        timings: of eager, then compiled.
        plan_digest: the same on two ranks where both compiled the same plan of the same graph.
    """

    rank: int
    report: CompileReport
    equality: Equality
    timings: Timings
    plan_digest: str = ""

    @property
    def eager(self) -> Timing:
        """The times before."""
        return self.timings.timings[0]

    @property
    def compiled(self) -> Timing:
        """The times after."""
        return self.timings.timings[-1]

    @property
    def ratio(self) -> Ratio:
        """How much faster compiled is than eager."""
        return self.timings.ratio(self.eager.name, self.compiled.name)


@dataclass(frozen=True, slots=True)
class RankReports:
    """What every rank found, side by side.

    Attributes:
        ranks: in the order of ranks, at least one.
        plan: what rank 0 compiled.
        backend: what moved the bytes, ``"gloo"`` or ``"nccl"``.
        link: the simulated link that the collectives went over, in words; empty for the bare process group.
        notes: sentences about the run as a whole.
    """

    ranks: tuple[RankResult, ...]
    plan: Plan
    backend: str = ""
    link: str = ""
    notes: tuple[str, ...] = ()

    @property
    def num_ranks(self) -> int:
        """How many ranks ran."""
        return len(self.ranks)

    @property
    def where(self) -> str:
        """What it ran on, as in ``"2 real ranks on gloo, over a simulated link: 50 µs, 100 Gb/s"``."""
        ranks = f"{self.num_ranks} real rank{'' if self.num_ranks == 1 else 's'}"
        return ranks + (f" on {self.backend}" if self.backend else "") + (f", over a {self.link}" if self.link else "")

    @property
    def slowest(self) -> RankResult:
        """The rank whose compiled step takes longest: the step of all takes as long as its."""
        return max(self.ranks, key=lambda one: one.compiled.median_ms)

    @property
    def worst(self) -> RankResult:
        """The rank with the worst verdict, the first of several."""
        return max(self.ranks, key=lambda one: VERDICTS.index(one.equality.verdict))

    @property
    def disagreements(self) -> tuple[str, ...]:
        """Sentences on what ranks should have in common and do not: the plan, the verdict, and on which outputs.

        One rank's output may be equal bit for bit where another's is equal up to rounding: their data differ.
        """
        found = []
        if others := [one.rank for one in self.ranks if one.plan_digest != self.ranks[0].plan_digest]:
            found.append(f"rank {_listed(others)} compiled another plan than rank 0")
        verdicts = _by_verdict((one.rank, one.equality.verdict) for one in self.ranks)
        if len(verdicts) > 1:
            found.append(f"ranks disagree whether it is the same: {_told(verdicts)}")
        apart = [(name, verdicts) for name, verdicts in self._verdicts_of_outputs() if len(verdicts) > 1 and not verdicts.keys() <= _SAME]
        if apart:
            name, verdicts = apart[0]
            more = f", and {len(apart) - 1} more outputs" if len(apart) > 1 else ""
            found.append(f"ranks disagree on {name}: {_told(verdicts)}{more}")
        return tuple(found)

    def _verdicts_of_outputs(self) -> Iterator[tuple[str, dict[str, list[int]]]]:
        names = dict.fromkeys(output.name for one in self.ranks for output in one.equality.outputs)
        found: dict[str, list[tuple[int, str]]] = {name: [] for name in names}
        for one in self.ranks:
            for output in one.equality.outputs:
                found[output.name].append((one.rank, output.verdict))
        return ((name, _by_verdict(pairs)) for name, pairs in found.items())

    def __str__(self) -> str:
        rows = [("rank", "verdict", "equal", "eager", "compiled", "against eager", "compiled in", "peak memory", "")]
        rows += [self._row(one) for one in self.ranks]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"{self.where}: {self.plan}", *table, *self.disagreements, *self.notes])

    def _row(self, one: RankResult) -> tuple[str, ...]:
        outputs, peak = one.equality.outputs, one.compiled.peak_bytes
        return (
            str(one.rank),
            one.equality.verdict,
            f"{one.equality.num_bitwise} of {len(outputs)}",
            f"{one.eager.median_ms:.4g} ms",
            f"{one.compiled.median_ms:.4g} ms",
            str(one.ratio),
            f"{one.report.seconds:.1f} s",
            "not measured" if peak is None else f"{peak / 1e6:.4g} MB",
            "slowest" if one is self.slowest and self.num_ranks > 1 else "",
        )


def _by_verdict(pairs: Iterator[tuple[int, str]] | Sequence[tuple[int, str]]) -> dict[str, list[int]]:
    """Verdict → the ranks that came to it."""
    found: dict[str, list[int]] = defaultdict(list)
    for rank, verdict in pairs:
        found[verdict].append(rank)
    return dict(found)


def _told(verdicts: dict[str, list[int]]) -> str:
    return ", ".join(f"{verdict} on rank {_listed(ranks)}" for verdict, ranks in verdicts.items())


def _listed(ranks: Sequence[int]) -> str:
    """Ranks in a sentence, at most a few of them."""
    few = ", ".join(map(str, ranks[:6]))
    return few if len(ranks) <= 6 else f"{few} and {len(ranks) - 6} more"
