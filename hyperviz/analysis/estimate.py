"""How long work and collectives take at least, from a device's figures; None where no estimate can be made.

Work: the roofline model (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
architectures", 2009): the longer of its operations at the peak rate and its bytes at the memory's rate, and the gap between kernels.

Collectives: latency and bandwidth of a ring of n ranks, with S the payload (Thakur, Rabenseifner and Gropp, "Optimization of collective
communication operations in MPICH", 2005; NVIDIA/nccl-tests, doc/PERFORMANCE.md):

==================  ============  =================
kind                steps         bytes per rank
==================  ============  =================
all_reduce          2 (n - 1)     2 S (n - 1) / n
all_gather          n - 1         S (n - 1) / n
reduce_scatter      n - 1         S (n - 1) / n
all_to_all          n - 1         S (n - 1) / n
gather, scatter     n - 1         S (n - 1) / n
broadcast, reduce   n - 1         S
send, recv          1             S
barrier             2 (n - 1)     0
==================  ============  =================

A transfer to or from host memory takes its bytes at the rate of the device's own link.

A ring over m nodes crosses m boundaries, so of the steps m - 1 (all_reduce, barrier: twice that) take the latency between nodes, as NCCL
counts them; of NCCL's protocols the faster counts (``hyperviz.analysis.networks``). Each rank brings its own port to the boundary, and a
library runs as many rings as there are ports; so the rate there is that of the ports of the group's ranks on one node together, but no
more than that inside.

Peak rates are not reached by real runs, so real times are longer. Algorithms other than rings, and reductions inside the network, are
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hyperviz.analysis.hardware import Hardware
from hyperviz.analysis.networks import Network
from hyperviz.snapshot import Collective, Kernel, Step

_ROUNDS = {"all_reduce": 2, "barrier": 2}
_ONE_TO_ONE = ("send", "recv", "send_recv")
_TRANSFERS = ("offload", "reload")
_WHOLE = ("broadcast", "reduce", *_ONE_TO_ONE)


def step_ms(step: Step, hardware: Hardware) -> float | None:
    """How long the device works on a step, in milliseconds; 0 for views, allocations, frees, launches and waits."""
    return _sum(kernel_ms(kernel, hardware) for kernel in step.work)


def kernel_ms(kernel: Kernel, hardware: Hardware) -> float | None:
    """The roofline: the longer of operations and bytes, and the gap between kernels."""
    counted = _sum(_flops_ms(count, hardware.tflops.get(dtype)) for dtype, count in kernel.flops.items())
    if counted is None or kernel.num_bytes is None:
        return None
    return max(counted, kernel.num_bytes / (hardware.memory_gbs * 1e6)) + hardware.launch_us / 1e3


def collective_ms(one: Collective, hardware: Hardware, ranks: Sequence[int] | None = None) -> float | None:
    """How long a collective takes on an idle link, in milliseconds.

    Args:
        one: the collective.
        hardware: whose links it uses.
        ranks: of its group, in the world; neighbours that start at a node's first device where left out.
    """
    return explain_collective(one, hardware, ranks)[0]


def explain_collective(one: Collective, hardware: Hardware, ranks: Sequence[int] | None = None) -> tuple[float | None, str]:
    """The same, and why no estimate can be made; empty where one can."""
    n = len(ranks) if ranks else one.num_ranks
    if one.payload_bytes is None:
        return None, f"the size of {one.launch} is not known"
    if one.kind in _TRANSFERS:
        host = hardware.host
        return (
            (one.payload_bytes / host.bytes_per_ms, "")
            if host
            else (None, f"no figures are known for the link of {hardware.title} to its host")
        )
    if n is None:
        return None, f"how many ranks are in group {one.group!r} of {one.launch} is not known"
    if n == 1:  # a copy
        return 2 * one.payload_bytes / (hardware.memory_gbs * 1e6) + hardware.launch_us / 1e3, ""
    per_node = _per_node(n, ranks, hardware.num_per_node)
    links = [hardware.inside] * (per_node > 1) + [hardware.between] * (per_node < n)
    if None in links:
        return None, f"no figures are known for the link between ranks on {hardware.title}"
    return _ring_ms(one, n, per_node, [link for link in links if link is not None]), ""


def _ring_ms(one: Collective, n: int, per_node: int, links: Sequence[Network]) -> float:
    """The formulas of the table; ``links`` are those that the ring uses, the one inside a node first."""
    assert one.payload_bytes is not None
    rounds, alone = _ROUNDS.get(one.kind, 1), one.kind in _ONE_TO_ONE
    steps = 1 if alone else rounds * (n - 1)
    crossing = min(steps, rounds * (-(-n // per_node) - 1))
    share = 1.0 if one.kind in _WHOLE else rounds * (n - 1) / n
    ports = 1 if alone or per_node == n else per_node
    rate = min(links[0].bytes_per_ms, links[-1].bytes_per_ms * ports) if len(links) > 1 else links[0].bytes_per_ms
    times = []
    for near, far in zip(links[0].protocols, links[-1].protocols, strict=True):
        latency_us = far.start_us + (steps - crossing) * near.hop_us + crossing * far.hop_us
        times.append(latency_us / 1e3 + share * one.payload_bytes / (rate * far.share))
    return min(times)


def _per_node(n: int, ranks: Sequence[int] | None, num_per_node: int) -> int:
    """How many ranks of a group are on one node."""
    if not ranks:
        return min(n, num_per_node)
    counts: dict[int, int] = {}
    for rank in ranks:
        counts[rank // num_per_node] = counts.get(rank // num_per_node, 0) + 1
    return max(counts.values())


def _flops_ms(count: int | None, tflops: float | None) -> float | None:
    return None if count is None or tflops is None else count / (tflops * 1e9)


def _sum(values: Iterable[float | None]) -> float | None:
    values = list(values)
    return None if None in values else sum(value for value in values if value is not None)
