"""The pass that shards: parameters live cut on the ranks, are gathered where they are used, and their gradients are scattered."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from hyperviz.analysis import Memory
from hyperviz.graph import check_placeholders, copy_graph_module, fake_mode_of
from hyperviz.passes.base import GraphPass
from hyperviz.passes.config import PassConfig
from hyperviz.passes.fsdp.editor import Editor
from hyperviz.passes.fsdp.gathers import Parameter, gather_unit
from hyperviz.passes.fsdp.group import ShardGroup, real_group
from hyperviz.passes.fsdp.layout import ShardLayout
from hyperviz.passes.fsdp.plan import KEY, ShardPlan
from hyperviz.passes.fsdp.reductions import Gradient, reduce_together
from hyperviz.passes.fsdp.uses import find_uses, find_writers, used_again_at_once
from hyperviz.passes.fsdp.wrapping import units_of

logger = logging.getLogger(__name__)


class FSDPPass(GraphPass):
    """Shard the parameters of wrapped modules over the ranks of a group.

    Matches each parameter of a wrapped module, with the other parameters of that module::

        weight ── mm(x, weight) ── … ── mm(grad, weight)     grad of weight ── output

    and makes of it, with ``reshard_after_forward``::

        weight ── gather ── wait ── mm ── free     gather ── wait ── mm      div ── reduce_scatter ── wait ── output
        a shard   ╰──── before the module's ────╯  ╰─ before its first ─╯    ╰─ behind the module's last gradient ─╯
                        first use; freed behind       use in the backward
                        its last in the forward

    Without it the first gather serves both phases and nothing is freed; nor is, with it, a parameter that the backward reads before any
    other parameter is read, as that of the last layer: it would be gathered again at once. Gathers write into buffers of their own
    (``_c10d_functional.all_gather_into_tensor_out``). Where rows do not divide, shards are padded with zeros, which views cut
    off after the gather, and zeros are appended to the gradient. A parameter outside every wrapped module stays whole on every
    rank, and its gradient is all-reduced. Where a group is smaller than the world, shards' gradients are all-reduced over the
    groups' replicas too.

    Safe because every reader of a parameter, and of a view or a cast of it, in one phase reads memory of one gather, which is
    waited for before the first and freed behind the last of them; views and casts that the backward would have kept are made
    again there. A step that writes to a parameter is refused. A frozen parameter is gathered and has no reduction; a gradient
    that is None stays None; a tied parameter is gathered once per phase. Buffers are replicated: what a step writes into them,
    as batch norm does, stays each rank's own.

    Numerics: gathering moves bits only. A gradient is divided by the number of ranks, then summed in the order of the backend;
    with one rank it is unchanged. The loss that the graph returns is that of this rank's own batch.

    ``graph_module.meta["fsdp"]`` is the ``ShardPlan``; with it, a second run changes nothing.
    """

    name = "fsdp"

    def run(self, graph_module: fx.GraphModule, pass_config: PassConfig, **context: Any) -> fx.GraphModule:
        """Shard in place.

        Args:
            graph_module: returns the loss, then one gradient or None per parameter; left as it was if the pass raises.
            pass_config: ``fsdp_enabled``, ``fsdp_degree``, ``fsdp_group``, ``fsdp_wrap`` and ``reshard_after_forward`` are read.
            **context: ``state_fqns`` and ``state_is_param``, of the leading placeholders (attributes of ``graph_module`` serve
                too); ``shard_group``, a ``ShardGroup``, where no real process group is to be asked; ``module_names``, of the model.

        Raises:
            ValueError: no ranks to shard over, a wrapped name that matches nothing, a parameter that cannot be cut, or a
                graph of which it is not known which inputs are parameters.
        """
        if not pass_config.fsdp_enabled or KEY in graph_module.meta:
            return graph_module
        check_placeholders(graph_module)
        state = _State.of(graph_module, context)
        units = units_of(tuple(state.placeholders), pass_config.fsdp_wrap, context.get("module_names", ()))
        group = context.get("shard_group") or real_group(pass_config)
        edited = copy_graph_module(graph_module)
        plan, counts = _shard(edited, state, units, group, pass_config.reshard_after_forward)
        edited.graph.lint()
        graph_module.graph = edited.graph
        graph_module.recompile()
        graph_module.meta[KEY] = plan
        logger.info("fsdp: %d gathers, %d frees, %d reduce-scatters, %d all-reduces over %d ranks", *counts, group.num_ranks)
        return graph_module


@dataclass(frozen=True, slots=True)
class _State:
    """Which placeholders and outputs belong to which parameter: name → position."""

    placeholders: dict[str, int]
    gradients: dict[str, int]

    @classmethod
    def of(cls, graph_module: fx.GraphModule, context: dict[str, Any]) -> _State:
        names = context.get("state_fqns", getattr(graph_module, "state_fqns", None))
        flags = context.get("state_is_param", getattr(graph_module, "state_is_param", None))
        if names is None or flags is None:
            raise ValueError("FSDPPass must be told state_fqns and state_is_param, which of the graph's inputs are parameters, got neither")
        found = {fqn: index for index, (fqn, is_param) in enumerate(zip(names, flags, strict=True)) if is_param}
        outputs = graph_module.graph.output_node().args[0]
        if not isinstance(outputs, (list, tuple)) or len(outputs) != len(found) + 1:
            came = len(outputs) if isinstance(outputs, (list, tuple)) else "a single value"
            raise ValueError(f"the graph must return the loss and one gradient for each of {len(found)} parameters, got {came}")
        return cls(found, {fqn: index for index, fqn in enumerate(found, start=1) if isinstance(outputs[index], fx.Node)})


def _shard(
    graph_module: fx.GraphModule, state: _State, units: dict[str, str], group: ShardGroup, resharded: bool
) -> tuple[ShardPlan, tuple[int, int, int, int]]:
    mode = fake_mode_of(graph_module)
    assert mode is not None, "placeholders were checked to carry fake values"
    editor = Editor(graph_module.graph, mode)
    parameters = _cut(graph_module.graph, state, units, group, editor)
    num_gathers = num_frees = 0
    by_unit = _grouped(parameters)
    uses = {parameter.fqn: parameter.uses for parameter in parameters}
    kept = used_again_at_once(uses, graph_module.graph) if resharded else []
    for members in by_unit.values():
        gathers, frees = gather_unit(members, resharded, kept, group, editor)
        num_gathers, num_frees = num_gathers + gathers, num_frees + frees
    num_scattered, num_reduced = _reduce(by_unit, state, group, editor)
    layouts = {parameter.fqn: parameter.layout for parameter in parameters}
    return ShardPlan(group, layouts, units, resharded, tuple(kept)), (num_gathers, num_frees, num_scattered, num_reduced)


def _cut(graph: fx.Graph, state: _State, units: dict[str, str], group: ShardGroup, editor: Editor) -> list[Parameter]:
    """Lets the placeholders of sharded parameters stand for shards."""
    placeholders = graph.find_nodes(op="placeholder")
    memory = Memory(graph)
    writers = find_writers(graph, memory)
    parameters = []
    for fqn, unit in units.items():
        node = placeholders[state.placeholders[fqn]]
        try:
            layout = ShardLayout.of(node.meta["val"], group.degree)
        except ValueError as cause:
            raise ValueError(f"{fqn!r} cannot be sharded: {cause}") from None
        parameters.append(Parameter(fqn, unit, node, layout, find_uses(node, fqn, memory, writers)))
    for parameter in parameters:
        whole = parameter.node.meta["val"]
        shard = editor.empty(parameter.layout.shard_shape, whole)
        parameter.node.meta["val"] = shard.requires_grad_(whole.requires_grad)
    return parameters


def _grouped(parameters: Sequence[Parameter]) -> dict[str, list[Parameter]]:
    by_unit: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        by_unit.setdefault(parameter.unit, []).append(parameter)
    return by_unit


def _reduce(by_unit: dict[str, list[Parameter]], state: _State, group: ShardGroup, editor: Editor) -> tuple[int, int]:
    """Scatters the gradients of each unit together, and reduces those of replicated parameters."""
    sharded = {parameter.fqn for members in by_unit.values() for parameter in members}
    num_scattered = 0
    for unit, members in by_unit.items():
        gradients = [
            Gradient(parameter.fqn, unit, state.gradients[parameter.fqn], parameter.layout, _first_gather(parameter))
            for parameter in members
            if parameter.fqn in state.gradients
        ]
        if gradients:
            reduce_together(gradients, group, editor)
        num_scattered += len(gradients)
    replicated = [Gradient(fqn, "", output, None) for fqn, output in state.gradients.items() if fqn not in sharded]
    if replicated:
        reduce_together(replicated, group, editor)
    return num_scattered, len(replicated)


def _first_gather(parameter: Parameter) -> str:
    launches = [user for user in parameter.node.users if user.target is torch.ops._c10d_functional.all_gather_into_tensor_out.default]
    return min(launches).name if launches else ""
