"""Plan, compile, compare, benchmark, explore."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from torch import fx

from hyperviz import measure
from hyperviz.analysis import explain_apart, make_plan
from hyperviz.api.parallel import parallelised, runnable, world_of
from hyperviz.api.programs import Graph, callable_of, communicates, graph_module_of, output_names_of, refusal_of, snapshot_of
from hyperviz.capture import JointGraph
from hyperviz.graph import copy_graph_module
from hyperviz.passes import CompiledGraph, PassConfig, PassPipeline, check_same_order
from hyperviz.snapshot import Apart, CompileReport, Equality, Plan, Progress, Timings

if TYPE_CHECKING:
    from hyperviz.api.ranks import Ranks
    from hyperviz.widgets import Explorer


def plan(joint: Graph, config: PassConfig | None = None) -> Plan:
    """What would be compiled, without compiling: fast enough to call on every click.

    Args:
        joint: a joint graph or a plain ``fx.GraphModule``, with or without fake values; left as it is.
        config: what to plan; by default mode ``"off"``.

    Returns:
        Every node's role, the regions, and the reason of every call that stays eager.

    Raises:
        ValueError: ``joint`` is no graph, or ``config`` no ``PassConfig``.
    """
    config = _config(config)
    joint = parallelised(joint, config)
    return make_plan(
        graph_module_of(joint),
        snapshot_of(joint),
        mode=config.inductor_mode,
        strategy=config.region_strategy,
        settings=config.inductor_configs,
        keep_eager=config.keep_eager,
        limits=config.limits,
    )


def why_apart(joint: Graph, config: PassConfig, first: str, second: str) -> Apart:
    """Why two regions of a plan, or the regions of two nodes, are not one: what forbids it, or what it would cost. Compiles nothing.

    Args:
        joint: a joint graph or a plain ``fx.GraphModule``; left as it is.
        config: what is planned; ``balance_hidden``, ``balance_peak`` and ``hardware`` are what a join is measured against.
        first: name of a region, as in ``"region_3"``, or of a node.
        second: likewise.

    Returns:
        The sentence, the eager calls between with what holds each on its side, the path that forbids the join, or its cost.

    Raises:
        ValueError: a name is neither a region nor a node (the message offers the nearest), or ``joint`` is no graph.
    """
    config = _config(config)
    return explain_apart(
        graph_module_of(parallelised(joint, config)),
        first,
        second,
        mode=config.inductor_mode,
        strategy=config.region_strategy,
        keep_eager=config.keep_eager,
        limits=config.limits,
    )


def compile(
    joint: Graph,
    config: PassConfig | None = None,
    flat: Sequence[object] | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
    on_error: str = "raise",
) -> CompiledGraph:
    """Compile the regions of the plan, on a private copy.

    Where a process group is up and the graph communicates, every rank calls it, and they compare the order of communication first.

    Args:
        joint: a joint graph or a plain ``fx.GraphModule`` traced with ``make_fx``; left as it is, whatever happens. One that
            ``hv.apply_passes`` returned has its parallel passes behind it; otherwise those that ``config`` asks for run first, and
            what is returned takes shards.
        config: what to compile; by default mode ``"off"``, which compiles nothing.
        flat: real inputs; needed only where something is measured on the way, and unused so far.
        progress: told before each distinct region; an exception raised in it stops the compile.
        on_error: ``"raise"``, or ``"eager"`` to leave a region that does not compile eager and report it.

    Returns:
        Call it as the graph before; it carries its plan and a report.

    Raises:
        ValueError: the graph carries no fake values, a setting is unknown, or a ``call_module`` cannot be looked into.
        RegionCompileError: a region does not compile and ``on_error`` is ``"raise"``.
    """
    config = _config(config)
    joint = runnable(parallelised(joint, config))
    graph_module = copy_graph_module(graph_module_of(joint))
    world = world_of(joint)
    if world is None:
        check_same_order(graph_module)
    with world.installed() if world else nullcontext():
        PassPipeline.terminal(config).run(
            graph_module,
            config,
            example_inputs=_example_inputs(joint),
            snapshot=snapshot_of(joint),
            progress=progress,
            on_error=on_error,
        )
    planned = graph_module.meta.get("inductor_plan") or plan(joint, config.replace(inductor_mode="off"))
    mode = graph_module.meta.get("inductor_compiled", "off")
    report = graph_module.meta.get("inductor_report") or CompileReport(mode, 0.0)
    return CompiledGraph(graph_module, planned, report, refusal_of(joint))


def compare(first: object, second: object, flat: Sequence[object], **options: Any) -> Equality:
    """Whether two runs of one computation are the same, and if not, how far off; see ``hyperviz.measure.compare``.

    Args:
        first: the reference: a joint graph, a graph module, a compiled graph, or a callable of the flat inputs.
        second: what is compared with it, likewise.
        flat: the real inputs, one for each placeholder; cloned for each side.
        **options: as ``hyperviz.measure.compare`` takes them: ``seed``, ``nan``, ``zeros``, ``labels``, ``output_names``.

    Raises:
        ValueError: a side cannot be called, or an option is unknown.
    """
    options.setdefault("output_names", output_names_of(first, second))
    options.setdefault("together", communicates(first, second))
    return measure.compare(callable_of(first), callable_of(second), flat, **options)


def benchmark(candidates: Mapping[str, object], flat: Sequence[object], **options: Any) -> Timings:
    """How long candidates take, in interleaved rounds of one run; see ``hyperviz.measure.benchmark``.

    Args:
        candidates: name → joint graph, graph module, compiled graph, or callable of the flat inputs.
        flat: the real inputs, one for each placeholder.
        **options: as ``hyperviz.measure.benchmark`` takes them: ``rounds``, ``warmup``, …

    Raises:
        ValueError: there is no candidate, one cannot be called, or an option is unknown.
    """
    options.setdefault("together", communicates(*candidates.values()))
    return measure.benchmark({name: callable_of(candidate) for name, candidate in candidates.items()}, flat, **options)


def explore(
    joint: Graph, flat: Sequence[object] | None = None, config: PassConfig | None = None, *, ranks: Ranks | None = None
) -> Explorer:
    """The explorer: the graph, the knobs, and what turning them does.

    Args:
        joint: a joint graph or a plain ``fx.GraphModule``; left as it is.
        flat: real inputs; without them it plans and compiles, but cannot compare or time.
        config: what the knobs show first. Parallel passes that it asks for are run once, and looked at.
        ranks: real ranks that compile, compare and time in the place of this process: what is planned is shown for a fake world of as
            many ranks, and once they have run, what rank 0 really compiled, with every rank's verdict and times.

    Returns:
        The widget; the last expression of a cell shows it.

    Raises:
        ValueError: ``joint`` is no graph, what ``config`` asks for cannot be done to it, or ``ranks`` is none, or not as many as
            ``joint`` was captured for.
    """
    from hyperviz.api.rank_session import RankSession
    from hyperviz.api.ranks import Ranks
    from hyperviz.api.session import Session  # widgets are loaded when a person asks for them
    from hyperviz.widgets import Explorer, Knobs

    config = _config(config)
    knobs = Knobs(mode=config.inductor_mode, strategy=config.region_strategy, settings=config.inductor_configs)
    if ranks is None:
        return Explorer(Session(joint, flat, config), knobs)
    if not isinstance(ranks, Ranks):
        raise ValueError(f"ranks must be hv.Ranks(build, num_ranks=…), got {ranks!r}")
    if flat is not None:
        raise ValueError("flat must be left out beside ranks: each rank has the inputs that its build returns")
    return Explorer(RankSession(joint, config, ranks), knobs)


def _config(config: PassConfig | None) -> PassConfig:
    if config is None:
        return PassConfig()
    if not isinstance(config, PassConfig):
        raise ValueError(f"config must be a PassConfig, got {type(config).__name__}")
    return config


def _example_inputs(joint: Graph) -> tuple[object, ...]:
    if isinstance(joint, JointGraph):
        return joint.example_inputs
    assert isinstance(joint, fx.GraphModule)
    return tuple(node.meta.get("val") for node in joint.graph.nodes if node.op == "placeholder")
