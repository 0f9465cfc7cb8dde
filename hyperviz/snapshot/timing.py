"""How long callables took, side by side in one run, and what may be concluded from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
