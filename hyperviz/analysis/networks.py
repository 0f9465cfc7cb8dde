"""What links between ranks can do, from public sources: rates of the wire, and latencies that NCCL expects of a ring.

Latencies are those of NCCL's own tuning model for a ring (NVIDIA/nccl, src/graph/tuning.cc: baseLat, hwLat). Its Simple protocol takes
8.4 µs to start, and per hop 3.4 µs over NVLink, 5.7 µs over PCIe, 14.0 µs over a network. Its LL protocol, for small messages, takes
6.6 µs, and per hop 0.6, 1.0 and 2.7 µs, at a quarter of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Protocol:
    """One way to send over a link.

    Attributes:
        start_us: microseconds that a collective takes however few hops it has.
        hop_us: microseconds that each step of a ring takes.
        share: the part of the link's rate that carries payload.
    """

    start_us: float
    hop_us: float
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Network:
    """A kind of link.

    Attributes:
        gbps: gigabits (10⁹ bits) per second that one rank can send.
        source: where the rate stands.
        protocols: ways to send over it; each message takes the fastest.
    """

    gbps: float
    source: str
    protocols: tuple[Protocol, ...]

    @property
    def bytes_per_ms(self) -> float:
        """Bytes that one rank can send in a millisecond."""
        return self.gbps * 1e9 / 8 / 1e3


def _nccl(simple_hop_us: float, low_latency_hop_us: float) -> tuple[Protocol, ...]:
    return Protocol(8.4, simple_hop_us), Protocol(6.6, low_latency_hop_us, 0.25)


_NVLINK, _PCIE, _NETWORK = _nccl(3.4, 0.6), _nccl(5.7, 1.0), _nccl(14.0, 2.7)
_FABRIC = "AMD Instinct MI300X data sheet: 7 links of 128 GB/s, both directions together; NVLink's latencies are assumed"

# Rates are those of one direction, as vendors and standards state them for a port.
NETWORKS = {
    "nvlink3": Network(2400, "NVIDIA A100 datasheet: 600 GB/s per GPU, both directions together", _NVLINK),
    "nvlink4": Network(3600, "NVIDIA H100 datasheet: 900 GB/s per GPU, both directions together", _NVLINK),
    "infinity-fabric-mi300x": Network(7 * 512, _FABRIC, _NVLINK),
    "pcie4-x16": Network(16 * 16 * 128 / 130, "PCI-SIG, PCI Express 4.0: 16 lanes of 16 GT/s, 128b/130b", _PCIE),
    "pcie5-x16": Network(32 * 16 * 128 / 130, "PCI-SIG, PCI Express 5.0: 16 lanes of 32 GT/s, 128b/130b", _PCIE),
    "infiniband-hdr": Network(200, "InfiniBand Trade Association roadmap: HDR, four lanes", _NETWORK),
    "infiniband-ndr": Network(400, "InfiniBand Trade Association roadmap: NDR, four lanes", _NETWORK),
    "ethernet-10g": Network(10, "IEEE 802.3ae", _NETWORK),
    "ethernet-100g": Network(100, "IEEE 802.3ba", _NETWORK),
}
