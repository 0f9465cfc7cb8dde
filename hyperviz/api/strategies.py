"""What each region strategy would cost: planned, counted and estimated, with nothing compiled."""

from __future__ import annotations

from torch import fx

from hyperviz.analysis import Regions, estimate_timeline, find_regions, group_settings, plan_of, schedule_of
from hyperviz.analysis.balanced import figures_of
from hyperviz.api.groups import group_ranks, group_sizes
from hyperviz.api.parallel import parallelised
from hyperviz.api.programs import Graph, graph_module_of, snapshot_of
from hyperviz.graph import copy_graph_module
from hyperviz.graph.values import fake_mode_of, propagate
from hyperviz.passes import PassConfig
from hyperviz.passes.artifact import sharing_key
from hyperviz.passes.region import extract
from hyperviz.snapshot import STRATEGIES, StrategyCost, StrategyCosts, windows_of

MOST_NODES_MERGED = 3000
"""Torch's own grouping takes a time that grows with the square of the number of nodes: two minutes for some thousand."""


def strategies(joint: Graph, config: PassConfig | None = None) -> StrategyCosts:
    """What every region strategy would cost in regional mode, before one is chosen. Compiles nothing.

    Args:
        joint: a joint graph or a plain ``fx.GraphModule``; left as it is.
        config: what is planned, but for its strategy and its mode; ``hardware`` is whose times are estimated.

    Returns:
        For each strategy how many regions it makes, how many of them are compiled (equal ones once), the estimated time of a step with
        what of communication is exposed and hidden, the peak of memory, and how many windows keep their compute.

    Raises:
        ValueError: ``joint`` is no graph, or ``config`` no ``PassConfig``.
    """
    costs = tuple(strategy_cost(joint, config, strategy) for strategy in STRATEGIES)
    return StrategyCosts(costs, costs_label(config))


def costs_label(config: PassConfig | None = None) -> str:
    """Whose figures costs go by."""
    return f"estimated for {figures_of((config or PassConfig()).limits).title}; nothing was compiled"


def strategy_cost(joint: Graph, config: PassConfig | None, strategy: str) -> StrategyCost:
    """What one strategy would cost; one that cannot be asked says why."""
    config = PassConfig() if config is None else config
    if not isinstance(config, PassConfig):
        raise ValueError(f"config must be a PassConfig, got {type(config).__name__}")
    config = config.replace(inductor_mode="regional", region_strategy=strategy)
    joint = parallelised(joint, config)
    graph_module = graph_module_of(joint)
    if strategy == "merged" and len(graph_module.graph.nodes) > MOST_NODES_MERGED:
        return StrategyCost(strategy, note=f"not asked: torch's own grouping takes minutes beyond {MOST_NODES_MERGED:,} nodes")
    keep, limits = config.keep_eager, config.limits
    try:
        regions = find_regions(graph_module.graph, mode="regional", strategy=strategy, keep_eager=keep, limits=limits)
    except ValueError as refusal:  # as for merged, on a torch that cannot
        return StrategyCost(strategy, note=str(refusal))
    return _cost(joint, regions, config)


def _cost(joint: Graph, regions: Regions, config: PassConfig) -> StrategyCost:
    graph_module, strategy = graph_module_of(joint), config.region_strategy
    plan = plan_of(regions, snapshot_of(joint), mode="regional", strategy=strategy, settings=config.inductor_configs)
    schedule = schedule_of(graph_module, regions, group_sizes=group_sizes(graph_module))
    times = estimate_timeline(schedule, figures_of(config.limits), group_ranks=group_ranks(graph_module))
    windows = [window for window in windows_of(plan) if window.inside]
    return StrategyCost(
        strategy,
        len(regions.groups),
        _distinct(graph_module, regions, config),
        times.total_ms,
        times.exposed_ms,
        times.hidden_ms,
        times.peak_bytes,
        times.least_peak_bytes,
        len(windows),
        sum(window.is_kept for window in windows),
        "nothing is annotated" if strategy == "annotated" and not regions.groups else "",
    )


def _distinct(graph_module: fx.GraphModule, regions: Regions, config: PassConfig) -> int | None:
    """How many regions are compiled, as ``sharing_key`` tells; None for a graph without fake values, where it cannot."""
    if regions.groups and fake_mode_of(graph_module) is None:
        return None
    copy = copy_graph_module(graph_module)
    propagate(copy)
    twin = dict(zip(graph_module.graph.nodes, copy.graph.nodes, strict=True))
    extracted = [extract(f"region_{index}", [twin[node] for node in group], copy) for index, group in enumerate(regions.groups)]
    settings = [group_settings(group, config.inductor_configs, config.region_strategy) for group in regions.groups]
    return len({sharing_key(region, its) or region.name for region, its in zip(extracted, settings, strict=True)})
