"""Named hardware: what a vendor says that it can do at most, each figure with its source."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from hyperviz.analysis.networks import NETWORKS, Network

# A GPU runs kernels one after another with a gap. NVIDIA measured one on a V100: 3.8 µs per kernel that itself takes 2.9 µs, launches
# overlapped with execution. No vendor states it for newer ones, so it stands for all.
_GAP_US = 0.9
_GAP_SOURCE = 'NVIDIA technical blog, "Getting Started with CUDA Graphs", 2019: 3.8 µs per kernel of 2.9 µs (V100)'


@dataclass(frozen=True, slots=True)
class Hardware:
    """One kind of device, and how its ranks are connected.

    Attributes:
        name: what ``hardware_named`` calls it.
        title: its full name.
        tflops: dtype → 10¹² dense floating point operations per second at most.
        memory_gbs: 10⁹ bytes per second between memory and chip.
        launch_us: microseconds between two kernels, however small they are.
        num_per_node: devices that the inside link connects.
        inside: the link between devices of one node; None where it is not known.
        between: the link between nodes, for each device; None where it is not known.
        host: the link to the host's memory; None where it is not known.
        sources: figure → where it stands.
        measured: whether the figures were measured here rather than stated by a vendor.
    """

    name: str
    title: str
    tflops: Mapping[str, float]
    memory_gbs: float
    launch_us: float = 0.0
    num_per_node: int = 1
    inside: Network | None = None
    between: Network | None = None
    host: Network | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    measured: bool = False


def _hopper(name: str, title: str, memory_gbs: float) -> Hardware:
    # The datasheet states Tensor Core rates with sparsity: dense is half. float32 is the CUDA cores', as torch multiplies by default.
    tflops = {"float64": 67.0, "float32": 67.0, "bfloat16": 989.5, "float16": 989.5, "float8_e4m3fn": 1979.0, "float8_e5m2": 1979.0}
    sheet = f"NVIDIA {title.split()[0]} datasheet, SXM"
    sources = {"tflops": f"{sheet}; Tensor Cores without sparsity", "memory_gbs": sheet, "launch_us": _GAP_SOURCE}
    sources |= {"num_per_node": f"NVIDIA DGX {title.split()[0]} datasheet: 8 GPUs, 8 ports of 400 Gb/s"}
    links = NETWORKS["nvlink4"], NETWORKS["infiniband-ndr"], NETWORKS["pcie5-x16"]
    return Hardware(name, title, tflops, memory_gbs, _GAP_US, 8, *links, sources)


_A100 = Hardware(
    "a100",
    "A100 SXM 80 GB",
    {"float64": 19.5, "float32": 19.5, "bfloat16": 312.0, "float16": 312.0},
    2039.0,
    _GAP_US,
    8,
    NETWORKS["nvlink3"],
    NETWORKS["infiniband-hdr"],
    NETWORKS["pcie4-x16"],
    {
        "tflops": "NVIDIA A100 datasheet; Tensor Cores without sparsity, float32 without TF32",
        "memory_gbs": "NVIDIA A100 datasheet, SXM 80 GB",
        "launch_us": _GAP_SOURCE,
        "num_per_node": "NVIDIA DGX A100 datasheet: 8 GPUs, 8 ports of 200 Gb/s for compute",
    },
)
_MI300X = Hardware(
    "mi300x",
    "MI300X 192 GB",
    {"float64": 163.4, "float32": 163.4, "bfloat16": 1307.4, "float16": 1307.4, "float8_e4m3fnuz": 2614.9, "float8_e5m2fnuz": 2614.9},
    5300.0,
    _GAP_US,
    8,
    NETWORKS["infinity-fabric-mi300x"],
    NETWORKS["infiniband-ndr"],
    NETWORKS["pcie5-x16"],
    {
        "tflops": "AMD Instinct MI300X data sheet, matrix cores without sparsity",
        "memory_gbs": "AMD Instinct MI300X data sheet",
        "launch_us": f"assumed to be NVIDIA's: {_GAP_SOURCE}",
        "num_per_node": "AMD Instinct MI300X platform data sheet: 8 OAMs; a port of 400 Gb/s for each is assumed",
    },
)
HARDWARE = {
    "h100": _hopper("h100", "H100 SXM 80 GB", 3350.0),
    "h200": _hopper("h200", "H200 SXM 141 GB", 4800.0),
    "a100": _A100,
    "mi300x": _MI300X,
}
CPU = "cpu"
NAMES = (*HARDWARE, CPU)
"""``"cpu"`` is this machine's: no vendor's figure holds for it, so ``hyperviz.measure`` measures it."""


def hardware_named(name: str) -> Hardware:
    """The hardware of a name, as in ``"h100"``, in upper or lower case.

    Raises:
        ValueError: none has that name; the message offers the nearest.
    """
    if (found := HARDWARE.get(str(name).lower())) is not None:
        return found
    near = difflib.get_close_matches(str(name).lower(), NAMES, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"hardware must be one of {', '.join(NAMES)}, or a hyperviz.analysis.Hardware, got {name!r}{hint}")
