"""What an offloaded graph remembers: which values leave for the host, and why others stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KEY = "offload"
REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Offloaded:
    """One saved value that leaves for host memory and comes back.

    Attributes:
        node: its name.
        num_bytes: of its memory.
        offload: the node that starts to copy it out.
        freed: the wait behind which its memory is given back.
        reload: the node that starts to copy it in.
        back: the wait behind which the backward reads it.
    """

    node: str
    num_bytes: int
    offload: str
    freed: str
    reload: str
    back: str

    def __str__(self) -> str:
        steps = f"out at {self.offload}, freed at {self.freed}, in at {self.reload}, there at {self.back}"
        return f"{self.node}: {self.num_bytes:,} bytes, {steps}"


@dataclass(frozen=True, slots=True)
class Offload:
    """What ``OffloadPass`` did; ``graph_module.meta["offload"]``.

    Attributes:
        moved: the values that leave, in the order in which they are made.
        kept: saved value of at least ``offload_min_bytes`` → why it stays.
        min_bytes: that limit.
    """

    moved: tuple[Offloaded, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    min_bytes: int = 0

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        if not self.moved and not self.kept:
            return f"offload: no value of {self.min_bytes:,} bytes or more is saved for the backward"
        size = sum(value.num_bytes for value in self.moved)
        return f"offload: {len(self.moved)} saved values, {size:,} bytes, wait for the backward in host memory; {len(self.kept)} stay"

    def __str__(self) -> str:
        return "\n".join(
            [self.sentence, *(f"  {value}" for value in self.moved), *(f"  {name} stays: {why}" for name, why in self.kept.items())]
        )
