"""A small training step made by hand, and a backend that plans, compiles and compares it without torch."""

from __future__ import annotations

import ast
import threading
from dataclasses import replace

from hand_made_evidence import HandMadeEvidence

from hyperviz.snapshot import (
    CompileReport,
    Equality,
    GraphSnapshot,
    NodeSnapshot,
    OutputEquality,
    Plan,
    RankReports,
    Region,
    RegionReport,
    Setting,
    SourceLine,
    TensorSnapshot,
    Timing,
    Timings,
)
from hyperviz.widgets.backend import Knobs, Progress, Stopped

HOSTILE = "</script><img src=x onerror=alert(1)> a -> {b|c}"
SETTINGS = (
    Setting("max_autotune", "bool", "False", "enable slow autotuning passes to select algorithms"),
    Setting("epilogue_fusion", "bool", "True", "fuse pointwise operators into templates"),
    Setting("triton.cudagraphs", "bool", "False", "use cudagraphs on the output code"),
    Setting("max_fusion_size", "int", "64", "the most nodes that one fusion holds"),
    Setting("layout_opt_default", "str", "'1'", "", ("'0'", "'1'")),
)


def tensor(*shape: int) -> TensorSnapshot:
    num_bytes = 4
    for size in shape:
        num_bytes *= size
    stride = tuple(reversed([1, *shape[:0:-1]]))
    return TensorSnapshot(shape, "float32", stride, "cpu", num_bytes)


def graph(num_layers: int = 2, title: str = "A hand-made step") -> GraphSnapshot:
    """``num_layers`` linear layers, their loss, and their gradients; the last weight is gathered by a collective."""
    nodes = [_state(f"layers.{index}.weight", index) for index in range(num_layers)]
    nodes.append(NodeSnapshot("x", "placeholder", "x", tensors=(tensor(4, 8),), phase="forward", kind="input"))
    nodes += [*_forward(num_layers), *_backward(num_layers)]
    outputs = ("loss", *(f"mm_grad_{index}" for index in range(num_layers)))
    nodes.append(NodeSnapshot("output", "output", "output", outputs, "backward"))
    return GraphSnapshot(tuple(nodes), title, versions={"torch": "none"})


def _state(fqn: str, index: int) -> NodeSnapshot:
    return NodeSnapshot(f"primals_{index}", "placeholder", fqn, tensors=(tensor(8, 8),), phase="forward", kind="parameter")


def _forward(num_layers: int) -> list[NodeSnapshot]:
    nodes, value = [], "x"
    for index in range(num_layers):
        here = {"phase": "forward", "tensors": (tensor(4, 8),), "module_path": f"layers.{index}"}
        source = SourceLine("/home/someone/model.py", 10 + index, f"y = torch.relu(x @ self.weight)  # {HOSTILE}", "forward")
        weight = f"primals_{index}"
        if index == num_layers - 1:
            gather = NodeSnapshot(f"gather_{index}", "call_function", "_c10d_functional.all_gather_into_tensor.default", (weight,), **here)
            wait = NodeSnapshot(f"wait_{index}", "call_function", "_c10d_functional.wait_tensor.default", (gather.name,), **here)
            nodes, weight = [*nodes, gather, wait], wait.name
        mm = NodeSnapshot(f"mm_{index}", "call_function", "aten.mm.default", (value, weight), source=source, **here)
        relu = NodeSnapshot(f"relu_{index}", "call_function", "aten.relu.default", (mm.name,), source=source, **here)
        nodes, value = [*nodes, mm, relu], relu.name
    return [*nodes, NodeSnapshot("loss", "call_function", "aten.mean.default", (value,), "forward", (tensor(),))]


def _backward(num_layers: int) -> list[NodeSnapshot]:
    nodes, value = [], "loss"
    for index in reversed(range(num_layers)):
        here = {"phase": "backward", "module_path": f"layers.{index}"}
        relu = NodeSnapshot(
            f"relu_grad_{index}",
            "call_function",
            "aten.threshold_backward.default",
            (value, f"relu_{index}"),
            tensors=(tensor(4, 8),),
            twin=f"relu_{index}",
            **here,
        )
        weight = NodeSnapshot(
            f"mm_grad_{index}",
            "call_function",
            "aten.mm.default",
            (f"relu_{index - 1}" if index else "x", relu.name),
            tensors=(tensor(8, 8),),
            twin=f"mm_{index}",
            **here,
        )
        nodes, value = [*nodes, relu, weight], relu.name
    return nodes


def plan(knobs: Knobs, whole: GraphSnapshot) -> Plan:
    """Runs of consecutive compute nodes as regions, or all of them as one."""
    roles = {node.name: _role(node) for node in whole.nodes}
    runs: list[list[str]] = [[]]
    for node in whole.nodes:
        if roles[node.name] == "compute" or (knobs.mode == "full" and roles[node.name] in ("collective", "wait")):
            runs[-1].append(node.name)
        elif roles[node.name] != "placeholder":
            runs.append([])
    runs = [] if knobs.mode == "off" else [run for run in runs if run]
    phase = {node.name: node.phase for node in whole.nodes}
    regions = tuple(
        Region(f"region_{number}", tuple(run), _phase({phase[name] for name in run}), 512 * len(run), 256, 128, knobs.settings)
        for number, run in enumerate(runs)
    )
    compiled = {name for run in runs for name in run}
    why = {"compute": "mode off compiles nothing", "collective": "communication stays eager", "wait": "communication stays eager"}
    eager = {name: why[role] for name, role in roles.items() if role in why and name not in compiled}
    return Plan(whole, knobs.mode, knobs.strategy, roles, regions, eager)


def _phase(phases: set[str]) -> str:
    return phases.pop() if len(phases) == 1 else "both"


def _role(node: NodeSnapshot) -> str:
    if node.op in ("placeholder", "output"):
        return node.op
    return {"gather": "collective", "wait": "wait"}.get(node.name.split("_")[0], "compute")


class HandMadeBackend(HandMadeEvidence):
    """Answers the explorer from the hand-made step; ``gate`` holds every region back until it is set.

    Attributes:
        calls: what was asked, in order.
        fail_at: the region at which a compile fails, or None.
        verdict: what a comparison concludes.
        reports: what real ranks are said to have found, or None.
    """

    def __init__(self, num_layers: int = 2, *, fail_at: str | None = None, verdict: str = "rounding") -> None:
        self.graph = graph(num_layers)
        self.calls: list[str] = []
        self.fail_at = fail_at
        self.verdict = verdict
        self.reports: RankReports | None = None
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    @property
    def where(self) -> str:
        return "3 real ranks" if self.reports else ""

    def ranks(self) -> RankReports | None:
        return self.reports

    def plan(self, knobs: Knobs) -> Plan:
        self.calls.append("plan")
        return plan(knobs, self.graph)

    def compile(self, knobs: Knobs, progress, should_stop) -> CompileReport:
        self.calls.append("compile")
        regions = plan(knobs, self.graph).regions
        for index, region in enumerate(regions):
            progress(Progress(index, len(regions), region.name, f"{len(region)} nodes of layers.{index}"))
            self.gate.wait(timeout=30)
            if should_stop():
                raise Stopped
            if region.name == self.fail_at:
                raise RuntimeError(f"{region.name} does not compile: no C++ compiler, install g++ {HOSTILE}")
        return CompileReport(knobs.mode, 1.5, tuple(RegionReport(region.name, len(region), 0.5, cache="miss") for region in regions))

    def compare(self) -> Equality:
        self.calls.append("compare")
        loss = OutputEquality("loss", "bitwise", "every bit is equal", 1, 0, 0, 0.0, 0.0, "float32[]", "float32[]")
        grad = OutputEquality("grad of layers.0.weight", self.verdict, "differs by at most 2 ulp", 64, 5, 2, 2.4e-7, 1e-7)
        return Equality(self.verdict, (loss, replace(grad), replace(grad, name="grad of layers.1.weight")))

    def benchmark(self) -> Timings:
        self.calls.append("benchmark")
        rounds = range(8)
        eager = Timing("eager", tuple(2.0 + 0.05 * (i % 3) for i in rounds), 2.05, 2.0, 2.1, 4096)
        compiled = Timing("compiled", tuple(1.0 + 0.05 * (i % 3) for i in rounds), 1.05, 1.0, 1.1, 2048)
        return Timings((eager, compiled), environment={"threads": "1", "rounds": "8"})

    def settings(self) -> tuple[Setting, ...]:
        self.calls.append("settings")
        return SETTINGS

    def parse_setting(self, key: str, text: str) -> object:
        known = {setting.key: setting for setting in SETTINGS}
        if key not in known:
            raise ValueError(f"unknown setting {key!r}; did you mean 'max_autotune'?")
        value = ast.literal_eval(text)
        if known[key].type != type(value).__name__:
            raise ValueError(f"setting {key!r} must be {known[key].type}, got {value!r}")
        return value

    def check_settings(self, settings) -> None:
        for key, value in settings.items():
            self.parse_setting(key, repr(value))
