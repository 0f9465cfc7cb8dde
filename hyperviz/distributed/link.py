"""A simulated network link: how long a message of so many bytes would take on it."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field

from hyperviz.analysis.networks import NETWORKS


@dataclass(frozen=True, slots=True)
class Link:
    """A link between ranks on which every collective takes at least ``latency_us`` plus its bytes at ``gbps``.

    >>> Link(latency_us=50, gbps=100).seconds(1_000_000)
    0.00013

    Attributes:
        latency_us: microseconds that a collective takes however small it is, at least 0.
        gbps: gigabits (10⁹ bits) per second that one rank can send, above 0.
        name: what the network is called, if it is one of `Link.named`.
        source: where its figures stand.

    Raises:
        ValueError: a figure is out of range or no number.
    """

    latency_us: float = 50
    gbps: float = 100
    name: str = field(default="", compare=False)
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not _is_number(self.latency_us) or self.latency_us < 0:
            raise ValueError(f"latency_us must be a number of microseconds ≥ 0, got {self.latency_us!r}")
        if not _is_number(self.gbps) or self.gbps <= 0:
            raise ValueError(f"gbps must be a number of gigabits per second > 0, got {self.gbps!r}")

    def __str__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"simulated link{name}: {self.latency_us:g} µs, {self.gbps:g} Gb/s"

    def seconds(self, num_bytes: float) -> float:
        """How long ``num_bytes`` occupy the link, in seconds."""
        return self.latency_us * 1e-6 + num_bytes * 8 / (self.gbps * 1e9)

    @classmethod
    def named(cls, name: str) -> Link:
        """The link with a public network's figures, as in ``Link.named("nvlink4")``; its ``source`` says where the rate stands.

        Its latency is that of NCCL's Simple protocol over one hop.

        Raises:
            ValueError: no network has that name.
        """
        if name in NETWORKS:
            network = NETWORKS[name]
            simple = network.protocols[0]
            return cls(simple.start_us + simple.hop_us, network.gbps, name, network.source)
        near = difflib.get_close_matches(str(name), NETWORKS, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"a named link must be one of {', '.join(NETWORKS)}, got {name!r}{hint}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
