"""When communication happens, as plain data: every collective with its wait and what lies between."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Collective:
    """One launch of communication, and where the graph waits for it.

    Attributes:
        launch: the node that starts it.
        waits: the nodes that wait for it, in execution order: one for each result of a coalesced collective, more where a result is
            waited for again; the launch itself where the operator is complete when it returns; empty where the graph never waits.
        kind: ``"all_gather"``, ``"reduce_scatter"``, ``"all_reduce"``, ``"all_to_all"``, ``"broadcast"``, ``"reduce"``, ``"gather"``,
            ``"scatter"``, ``"send"``, ``"recv"``, ``"send_recv"`` or ``"barrier"``.
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
