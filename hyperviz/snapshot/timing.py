"""How long callables took, side by side in one run, and what may be concluded from it."""

from __future__ import annotations

import difflib
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


def median_interval(samples: Sequence[float], confidence: float) -> tuple[float, float]:
    """An interval that holds the median of what was sampled, whatever its distribution.

    Its ends are the k-th smallest and k-th largest sample, with the largest k that keeps the chance that fewer than k samples fall on
    one side of the median, each with probability one half, within ``1 - confidence`` (H. A. David and H. N. Nagaraja, "Order
    Statistics", 3rd edition, section 7.1). So it assumes nothing but that the samples are independent; its true confidence is a little
    higher.

    Args:
        samples: in any order and unit.
        confidence: between 0 and 1.

    Raises:
        ValueError: for too few samples: not even the smallest and the largest enclose the median with that confidence.
    """
    if len(samples) < min_samples(confidence):
        raise ValueError(f"an interval of {confidence:.0%} needs at least {min_samples(confidence)} samples, got {len(samples)}")
    k, missed = 0, 0.0
    while (missed := missed + 2 * math.comb(len(samples), k) / 2 ** len(samples)) <= 1 - confidence:
        k += 1
    ordered = sorted(samples)
    return ordered[k - 1], ordered[-k]


def min_samples(confidence: float) -> int:
    """The fewest samples that ``median_interval`` can work with: all lie on one side of the median with chance ``2 / 2**n``."""
    return math.ceil(1 - math.log2(1 - confidence))


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of one candidate.

    Attributes:
        name: the candidate's.
        samples_ms: one time per round, in the rounds' order.
        median_ms: the median of the samples.
        low_ms: lower end of the interval of the median.
        high_ms: upper end of the interval of the median.
        peak_bytes: the most memory it held above what was held before it ran; None where that cannot be measured.
    """

    name: str
    samples_ms: tuple[float, ...]
    median_ms: float
    low_ms: float
    high_ms: float
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much faster the second candidate is than the first: above 1, the second is faster.

    Attributes:
        first: name of the candidate in the numerator.
        second: name of the candidate in the denominator.
        median: median over the rounds of first divided by second.
        low: lower end of its interval.
        high: upper end of its interval.
        confidence: the chance that such an interval holds the true median.
    """

    first: str
    second: str
    median: float
    low: float
    high: float
    confidence: float

    @property
    def conclusion(self) -> str:
        """In words: which is faster, or "no difference shown" where the interval holds 1."""
        if self.low <= 1.0 <= self.high:
            return "no difference shown"
        return f"{self.second if self.low > 1 else self.first} is faster"

    def __str__(self) -> str:
        return f"{self.median:.2f}x [{self.low:.2f}, {self.high:.2f}]: {self.conclusion}"


@dataclass(frozen=True, slots=True)
class Timings:
    """Several candidates timed in interleaved rounds of one run.

    Attributes:
        timings: in the order in which the candidates were given.
        confidence: of every interval.
        environment: what was controlled and what was found: threads, garbage collection, device, versions, rounds, warm-up.
    """

    timings: tuple[Timing, ...]
    confidence: float = 0.95
    environment: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Timing:
        """The candidate of that name.

        Raises:
            ValueError: there is none; the message offers the nearest.
        """
        names = [timing.name for timing in self.timings]
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, names))}"
            raise ValueError(f"no candidate is called {name!r}; {hint}")
        return self.timings[names.index(name)]

    def ratio(self, first: str, second: str) -> Ratio:
        """How much faster ``second`` is than ``first``, from the two times of each round.

        What slows a whole round down, slows both, and cancels; so the interval is of the median of the rounds' ratios, and not made
        from the two medians' intervals.

        Raises:
            ValueError: a name is unknown.
        """
        pairs = zip(self[first].samples_ms, self[second].samples_ms, strict=True)
        ratios = [one / two for one, two in pairs]
        low, high = median_interval(ratios, self.confidence)
        return Ratio(first, second, statistics.median(ratios), low, high, self.confidence)

    def __str__(self) -> str:
        rows = [("candidate", "median", f"{self.confidence:.0%} interval", "peak memory", "against the first")]
        for timing in self.timings:
            peak = "not measured" if timing.peak_bytes is None else f"{timing.peak_bytes / 1e6:.4g} MB"
            against = "" if timing is self.timings[0] else str(self.ratio(self.timings[0].name, timing.name))
            rows.append((timing.name, f"{timing.median_ms:.4g} ms", f"[{timing.low_ms:.4g}, {timing.high_ms:.4g}]", peak, against))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
