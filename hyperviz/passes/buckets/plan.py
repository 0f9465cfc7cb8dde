"""What a bucketed graph remembers: which collectives were merged."""

from __future__ import annotations

from dataclasses import dataclass

KEY = "buckets"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Collectives that became one.

    Attributes:
        name: as in ``"blocks.1 gather (forward)"``; every node of the bucket carries it in ``meta["bucket"]``.
        launch: the node that starts it.
        parameters: what it carries, in the order in which it is packed.
        num_bytes: of the whole parameters or gradients, padding included; for a sum over replicas, of the shards.
    """

    name: str
    launch: str
    parameters: tuple[str, ...]
    num_bytes: int

    def __str__(self) -> str:
        count = len(self.parameters)
        return f"{self.name}: {count} parameter{'' if count == 1 else 's'}, {self.num_bytes:,} bytes"


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of a graph; ``graph_module.meta["buckets"]`` of one that went through ``BucketPass``.

    Attributes:
        buckets: in execution order.
    """

    buckets: tuple[Bucket, ...]

    @property
    def sentence(self) -> str:
        """All of them in one sentence."""
        if not self.buckets:
            return "no buckets: the graph has no collectives that FSDPPass put there"
        return f"{sum(len(bucket.parameters) for bucket in self.buckets)} collectives merged into {len(self.buckets)} buckets"

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  {bucket}" for bucket in self.buckets)])
