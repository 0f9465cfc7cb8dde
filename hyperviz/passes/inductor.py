"""The terminal pass: it tags what may be compiled, takes the regions of the plan out, and compiles them with TorchInductor."""

from __future__ import annotations

import dataclasses
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from hyperviz.analysis import TAG, Regions, find_regions, group_settings, plan_of
from hyperviz.graph import check_placeholders, copy_graph_module, fake_mode_of, own_custom, propagate, take_snapshot
from hyperviz.passes.artifact import Artifact, compile_region, compile_settings, regional_inductor_available, sharing_key
from hyperviz.passes.base import GraphPass
from hyperviz.passes.compiled import CompiledRegion
from hyperviz.passes.config import PassConfig
from hyperviz.passes.errors import RegionCompileError, describe_cause
from hyperviz.passes.proof import check_order
from hyperviz.passes.region import ExtractedRegion, extract, replace
from hyperviz.passes.settings import check_settings
from hyperviz.snapshot import CompileReport, OrderCheck, Plan, Progress, RegionReport

logger = logging.getLogger(__name__)


class InductorPass(GraphPass):
    """Compile the regions of a graph with TorchInductor and leave the rest as it is.

    Matches, in regional mode, every maximal run of consecutive functional calls::

        gather │ wait │ mm, add, gelu, mm │ reduce_scatter │ mul, sum │ wait
          eager        ╰──── region_0 ───╯                  ╰─ region_1 ─╯

    Safe because a region holds nothing that something outside could see half done: no communication, no effect, no write to
    memory that another node sees, and because nothing is moved across an eager node. Numerics: Inductor's, with
    ``eager_numerics.division_rounding`` forced where torch has it; see ``PassConfig.numerics``.

    After it the graph is a thin wrapper around its regions. ``graph_module.meta["inductor_compiled"]`` is the mode;
    ``["inductor_plan"]`` and ``["inductor_report"]`` say what was compiled and how. A second run does nothing, with a warning.
    """

    name = "inductor"

    def run(self, graph_module: fx.GraphModule, pass_config: PassConfig, **context: Any) -> fx.GraphModule:
        """Compile in place.

        Args:
            graph_module: a graph traced with ``make_fx``; left as it was if the pass raises.
            pass_config: ``inductor_mode``, ``inductor_configs``, ``region_strategy``, ``numerics`` and ``keep_eager`` are read.
            **context: ``example_inputs``, one for each placeholder (needed unless the graph is a stub around a pipeline
                schedule); ``progress``, called with a ``hyperviz.snapshot.Progress``, may raise to stop; ``on_error``,
                ``"raise"`` or ``"eager"``; ``snapshot``, the graph's ``GraphSnapshot`` if there is one already.

        Raises:
            ValueError: the graph carries no fake values, an input is missing, a setting is unknown, or a ``call_module`` is no
                pipeline schedule.
            RegionCompileError: a region does not compile and ``on_error`` is ``"raise"``.
        """
        if pass_config.inductor_mode == "off":
            return graph_module
        if graph_module.meta.get("inductor_compiled") in ("regional", "full"):
            warnings.warn("the graph has been through the Inductor pass already: it is left as it is", stacklevel=2)
            return graph_module
        schedules = _schedules(graph_module)
        if not regional_inductor_available():
            return _unavailable(graph_module, pass_config)
        check_settings(pass_config.inductor_configs)
        if schedules:
            for schedule in schedules:
                schedule.map_stage_graphs(lambda stage: self._compile(stage, pass_config, context))
            graph_module.meta["inductor_compiled"] = pass_config.inductor_mode
            return graph_module
        _check_example_inputs(graph_module, context.get("example_inputs"))
        return self._compile(graph_module, pass_config, context)

    def _compile(self, graph_module: fx.GraphModule, config: PassConfig, context: dict[str, Any]) -> fx.GraphModule:
        compilation = _Compilation.of(graph_module, config, context)
        compilation.compile_regions()
        compilation.install(graph_module)
        return graph_module


def tag(regions: Regions, plan: Plan, strategy: str) -> None:
    """Write ``meta["custom"]["compile_with_inductor"]`` on the calls of every region, each node with dicts of its own."""
    for region, group in zip(plan.regions, regions.groups, strict=True):
        for node in group:
            if node.op in ("call_function", "call_method"):
                own_custom(node)
                entry: dict[str, object] = {"inductor_configs": dict(region.settings)}
                if strategy in ("runs", "balanced"):
                    entry["inductor_region"] = region.name
                elif strategy == "annotated":
                    entry = {**((node.meta.get("custom") or {}).get(TAG) or {}), **entry}
                node.meta.setdefault("custom", {})[TAG] = entry


@dataclass(slots=True)
class _Compilation:
    """One compile, on a private copy of the graph until every region is done."""

    graph_module: fx.GraphModule
    config: PassConfig
    regions: Regions
    plan: Plan
    extracted: list[ExtractedRegion]
    fake_mode: FakeTensorMode | None
    on_error: str
    progress: Callable[[Progress], None]
    started: float
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    reports: dict[str, RegionReport] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, original: fx.GraphModule, config: PassConfig, context: dict[str, Any]) -> _Compilation:
        started = time.perf_counter()
        on_error = context.get("on_error", "raise")
        if on_error not in ("raise", "eager"):
            raise ValueError(f"on_error must be 'raise' or 'eager', got {on_error!r}")
        check_placeholders(original)
        graph_module = copy_graph_module(original)
        propagate(graph_module)
        graph = context.get("snapshot") or take_snapshot(graph_module)
        mode, strategy = config.inductor_mode, config.region_strategy
        regions = find_regions(graph_module.graph, mode=mode, strategy=strategy, keep_eager=config.keep_eager, limits=config.limits)
        plan = plan_of(regions, graph, mode=mode, strategy=strategy, settings=config.inductor_configs)
        for region in plan.regions:
            check_settings(region.settings)
        if config.numerics != "exact":  # Inductor's lite mode compiles what is tagged, and only what is not runs torch's kernels
            tag(regions, plan, config.region_strategy)
        extracted = [extract(region.name, group, graph_module) for region, group in zip(plan.regions, regions.groups, strict=True)]
        progress = context.get("progress") or (lambda _: None)
        return cls(graph_module, config, regions, plan, extracted, fake_mode_of(graph_module), on_error, progress, started)

    def compile_regions(self) -> None:
        """Compile each distinct region once, in order."""
        keys = [sharing_key(region, self._settings(region)) or region.name for region in self.extracted]
        first: dict[str, ExtractedRegion] = {}
        for key, region in zip(keys, self.extracted, strict=True):
            first.setdefault(key, region)
        distinct = list(first.values())
        for index, region in enumerate(distinct):
            self.progress(self._where(index, distinct, region))
            self._compile_one(region)
        self.progress(self._where(len(distinct), distinct, None))
        for key, region in zip(keys, self.extracted, strict=True):
            if (leader := first[key]) is not region:
                self._share(region, leader)

    def install(self, original: fx.GraphModule) -> None:
        """Put the compiled graph into the original, once its order has been compared with the plan."""
        done = [region for region in self.extracted if region.name in self.artifacts]
        targets = {region.name: _free_name(original, region.name) for region in done}
        graph = replace(self.graph_module, self.regions.order, done, lambda region: targets[region.name])
        plan = self._final_plan()
        order = check_order(plan, graph)
        for region in done:
            members = tuple(node.name for node in region.members)
            settings = self._patched(region)
            module = CompiledRegion(region.name, members, region.graph_module, settings, self.artifacts[region.name])
            original.add_submodule(targets[region.name], module)
        original.graph = graph
        graph.lint()
        original.recompile()
        original.meta["inductor_compiled"] = self.config.inductor_mode
        original.meta["inductor_plan"] = plan
        original.meta["inductor_report"] = self._report(order)
        num_compiled = sum(len(region.members) for region in done)
        logger.info("compiled %d of %d nodes in %d regions", num_compiled, len(self.regions.order), len(done))

    def _compile_one(self, region: ExtractedRegion) -> None:
        started = time.perf_counter()
        cache, error = "unknown", None
        try:
            assert self.fake_mode is not None, "a region without tensors"
            self.artifacts[region.name], cache = compile_region(region, self._patched(region), self.fake_mode)
        except Exception as cause:
            if self.on_error == "raise":
                raise RegionCompileError(region.name, region.members, cause) from cause
            error = self.failed[region.name] = describe_cause(cause)
        seconds = time.perf_counter() - started
        self.reports[region.name] = RegionReport(region.name, len(region.members), seconds, cache=cache, error=error)

    def _share(self, region: ExtractedRegion, leader: ExtractedRegion) -> None:
        report = self.reports[leader.name]
        if leader.name in self.artifacts:
            self.artifacts[region.name] = self.artifacts[leader.name]
        else:
            self.failed[region.name] = self.failed[leader.name]
        self.reports[region.name] = RegionReport(
            region.name, len(region.members), 0.0, reused_from=leader.name, cache=report.cache, error=report.error
        )

    def _settings(self, region: ExtractedRegion) -> dict[str, object]:
        return group_settings(region.members, self.config.inductor_configs, self.config.region_strategy)

    def _patched(self, region: ExtractedRegion) -> dict[str, object]:
        return compile_settings(self._settings(region), self.config.inductor_mode, self.config.numerics)

    def _where(self, index: int, distinct: Sequence[ExtractedRegion], region: ExtractedRegion | None) -> Progress:
        seconds = time.perf_counter() - self.started
        done = sum(len(other.members) for other in distinct[:index])
        left = sum(len(other.members) for other in distinct[index:])
        what = _describe(region) if region else ""
        return Progress(index, len(distinct), region.name if region else "", what, seconds, seconds * left / done if done else None)

    def _final_plan(self) -> Plan:
        """The plan, less the regions that did not compile."""
        if not self.failed:
            return self.plan
        kept = tuple(region for region in self.plan.regions if region.name not in self.failed)
        eager = dict(self.plan.eager)
        for region in self.plan.regions:
            if region.name in self.failed:
                eager.update(dict.fromkeys(region.nodes, f"{region.name} did not compile: {self.failed[region.name]}"))
        return dataclasses.replace(self.plan, regions=kept, eager=eager)

    def _report(self, order: OrderCheck) -> CompileReport:
        regions = tuple(self.reports[region.name] for region in self.plan.regions)
        notes = [f"{name} was left eager: {reason}" for name, reason in self.failed.items()]
        return CompileReport(self.config.inductor_mode, time.perf_counter() - self.started, regions, tuple(notes), order)


def _describe(region: ExtractedRegion) -> str:
    """What a region holds in a few words: its size, and the module that all of it belongs to, or the first and the last."""
    count = f"{len(region.members)} node{'' if len(region.members) == 1 else 's'}"
    paths = [path for node in region.members if (path := node.meta.get("module_path"))]
    if not paths:
        return count
    levels = zip(*(path.split(".") for path in paths), strict=False)
    shared = ".".join(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
    where = f"of {shared}" if shared else f"from {paths[0]} to {paths[-1]}"
    return f"{count} {where}"


def _free_name(graph_module: fx.GraphModule, name: str) -> str:
    while hasattr(graph_module, name):
        name += "_"
    return name


def _schedules(graph_module: fx.GraphModule) -> list[Any]:
    """The pipeline schedules that the graph is a stub around."""
    found = []
    for node in graph_module.graph.nodes:
        if node.op == "call_module":
            module = graph_module.get_submodule(str(node.target))
            if not callable(getattr(module, "map_stage_graphs", None)):
                raise ValueError(
                    f"call_module {node.target!r} ({type(module).__name__}) must be a pipeline schedule with map_stage_graphs(fn), "
                    f"since the Inductor pass cannot see into a module; trace it into the graph instead"
                )
            found.append(module)
    return found


def _unavailable(graph_module: fx.GraphModule, config: PassConfig) -> fx.GraphModule:
    logger.warning(
        "torch %s has no regional Inductor (2.10 and later do): mode %r is off and the graph runs eagerly",
        torch.__version__,
        config.inductor_mode,
    )
    graph_module.meta["inductor_compiled"] = "unavailable"
    return graph_module


def _check_example_inputs(graph_module: fx.GraphModule, example_inputs: object) -> None:
    check_placeholders(graph_module)
    names = [node.name for node in graph_module.graph.nodes if node.op == "placeholder"]
    if example_inputs is None:
        raise ValueError(f"example_inputs must be given, one for each of the graph's {len(names)} placeholders, got none")
    if not isinstance(example_inputs, Sequence) or len(example_inputs) != len(names):
        came = len(example_inputs) if isinstance(example_inputs, Sequence) else type(example_inputs).__name__
        raise ValueError(f"example_inputs must hold one value for each of the graph's {len(names)} placeholders, got {came}")
