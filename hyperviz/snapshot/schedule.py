"""What happens when, as plain data: collectives with what lies between launch and wait, work, and memory alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STEP_KINDS = ("compute", "view", "allocate", "launch", "wait", "effect")


@dataclass(frozen=True, slots=True)
class Collective:
    """One launch of communication, and where the graph waits for it.

    Attributes:
        launch: the node that starts it.
        waits: the nodes that wait for it, in execution order: one for each result of a coalesced collective, more where a result is
            waited for again; the launch itself where the operator is complete when it returns; empty where the graph never waits.
        kind: ``"all_gather"``, ``"reduce_scatter"``, ``"all_reduce"``, ``"all_to_all"``, ``"broadcast"``, ``"reduce"``, ``"gather"``,
            ``"scatter"``, ``"send"``, ``"recv"``, ``"send_recv"`` or ``"barrier"``; in a schedule also ``"offload"`` and ``"reload"``,
            transfers to and from host memory.
        group: name of its process group; ``""`` where the graph does not say.
        num_ranks: how many ranks are in it, as the launch, another launch on the same group, or the group itself says; else None.
        payload_bytes: its size as nccl-tests counts it: the output of a gather, the input of everything else, with a symbolic size by
            its hint; None where it is not known.
        bucket: name of the bucket that it carries; ``""`` for none.
        compute_inside: the nodes with work of their own between the launch and the first wait; up to the end of the graph without one.
    """

    launch: str
    waits: tuple[str, ...]
    kind: str
    group: str = ""
    num_ranks: int | None = None
    payload_bytes: int | None = None
    bucket: str = ""
    compute_inside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """Work that a device does in one go.

    Attributes:
        flops: dtype → floating point operations of matmuls, convolutions and attention in it, a symbolic size by its hint; None where
            a size is not known; empty for all other work, which memory limits.
        num_bytes: bytes that it reads and writes; None where a size is not known.
    """

    flops: Mapping[str, int | None] = field(default_factory=dict)
    num_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A node of the graph, or a region, as it is executed.

    Attributes:
        name: the node's, or the region's; a region that holds communication has a step for each piece between.
        kind: one of ``STEP_KINDS``: ``"view"`` makes neither work nor memory, ``"allocate"`` memory only; a free is an ``"effect"``.
        nodes: how many nodes it holds.
        work: what the device does, in order; empty for communication, effects and views.
        live_bytes: bytes alive while it runs, at its fullest moment, if every value inside is materialised; None where one is not known.
        least_bytes: the same if nothing inside is; equal for a single node.
        bytes_in: bytes of the storages that it reads from outside; None where one is not known.
        bytes_out: bytes of the storages that it leaves behind; None where one is not known.
    """

    name: str
    kind: str
    nodes: int = 1
    work: tuple[Kernel, ...] = ()
    live_bytes: int | None = None
    least_bytes: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None

    @property
    def flops(self) -> int | None:
        """Floating point operations of all its work; None where one is not known."""
        counts = [count for kernel in self.work for count in kernel.flops.values()]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def num_bytes(self) -> int | None:
        """Bytes that all its work reads and writes; None where one is not known."""
        counts = [kernel.num_bytes for kernel in self.work]
        return None if None in counts else sum(count for count in counts if count is not None)


@dataclass(frozen=True, slots=True)
class LiveValue:
    """Memory that is alive at the peak.

    Attributes:
        node: the node that allocated it.
        num_bytes: its size; None where that is not known.
    """

    node: str
    num_bytes: int | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """The order in which a graph works, communicates and holds memory; no hardware is assumed.

    Memory is what the run itself allocates on the device; inputs belong to the caller, live throughout, and are counted apart.

    Attributes:
        steps: every call, in execution order.
        collectives: in the order of launches, with the steps that compute between launch and first wait; transfers to and from host
            memory among them, with ``"host memory"`` for a group.
        input_bytes: bytes of the storages of inputs and constants; None where one is not known.
        peak_bytes: the largest ``live_bytes``; None where one is not known.
        least_peak_bytes: the largest ``least_bytes``; the peak of a compiled run lies between.
        peak_step: name of the step at which the peak is reached; empty where it is not known, or nothing runs.
        at_peak: what is alive there, largest first.
        notes: sentences about it, as in which collective is never waited for.
    """

    steps: tuple[Step, ...]
    collectives: tuple[Collective, ...] = ()
    input_bytes: int | None = 0
    peak_bytes: int | None = 0
    least_peak_bytes: int | None = 0
    peak_step: str = ""
    at_peak: tuple[LiveValue, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        peak = "unknown" if self.peak_bytes is None else f"{self.peak_bytes:,} bytes at {self.peak_step}"
        return f"{len(self.steps)} steps · {len(self.collectives)} collectives · peak {peak}"
