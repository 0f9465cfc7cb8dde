"""The pass that lets saved values wait for the backward in host memory."""

from __future__ import annotations

import logging
from typing import Any

from torch import fx

from hyperviz.graph import check_placeholders, copy_graph_module, fake_mode_of, propagate
from hyperviz.graph.values import tensors_of
from hyperviz.passes.base import GraphPass
from hyperviz.passes.config import PassConfig
from hyperviz.passes.fsdp.editor import Editor
from hyperviz.passes.offload.plan import KEY, REFUSAL, Offload, Offloaded
from hyperviz.passes.offload.saved import find_saved, why_it_stays
from hyperviz.passes.offload.transfer import Operators, Route, send

logger = logging.getLogger(__name__)


class OffloadPass(GraphPass):
    """Move large values that the forward saves for the backward to host memory, and back in time.

    Matches memory of at least ``offload_min_bytes`` that the forward makes and the backward reads, each once, whatever views there
    are of it, and makes of it, with torch's operators of the namespace ``ao``::

        mm ── gelu ── … ── … ── gelu_backward

        mm ── gelu ── offload ── … ── wait (frees it) ── … ── reload ── … ── wait ── view ── gelu_backward
                      ╰ offload_ahead operators ╯              ╰ offload_ahead ╯     ╰ made again
                      ╰ behind its last use in the forward                           ╰ before its first in the backward

    Safe because everything in the backward that read the value, or a view of it, reads what came back, in the same layout, and nothing
    else reads its memory once it is freed: a value that the graph returns, that something writes to, communicates, or reads for an
    effect, stays. So do parameters, gathered ones too, and what would be away for fewer than twice ``offload_ahead`` operators.
    Numerics: copies move bits only.

    The operators need an accelerator. A graph whose tensors are on the host is made, planned and drawn all the same, and refuses to
    run: ``graph_module.meta["refusal"]`` is the sentence. ``graph_module.meta["offload"]`` is an ``Offload``; with it, a second run
    changes nothing.
    """

    name = "offload"

    def run(self, graph_module: fx.GraphModule, pass_config: PassConfig, **context: Any) -> fx.GraphModule:
        """Offload in place.

        Args:
            graph_module: with phases and fake values, as ``hv.trace`` makes it; left as it was if the pass raises.
            pass_config: ``offload_enabled``, ``offload_min_bytes`` and ``offload_ahead`` are read.
            **context: unused.

        Raises:
            ValueError: torch has no operators to offload with, or the graph carries no fake values.
        """
        if not pass_config.offload_enabled or KEY in graph_module.meta:
            return graph_module
        operators = Operators.of_torch()
        check_placeholders(graph_module)
        edited = copy_graph_module(graph_module)
        propagate(edited)
        offload = _offload(edited, pass_config, operators)
        edited.graph.lint()
        graph_module.graph = edited.graph
        graph_module.recompile()
        graph_module.meta[KEY] = offload
        if offload.moved and not _is_on_device(graph_module):
            graph_module.meta[REFUSAL] = (
                "offloaded values need an accelerator to run: this graph's tensors are on the host, where it can be planned and drawn; "
                "capture the step with the model on an accelerator, or leave offload_enabled out"
            )
        logger.info(offload.sentence)
        return graph_module


def _offload(graph_module: fx.GraphModule, config: PassConfig, operators: Operators) -> Offload:
    mode, graph = fake_mode_of(graph_module), graph_module.graph
    if mode is None:
        return Offload(min_bytes=config.offload_min_bytes)
    route, editor, on_device = Route(graph, config.offload_ahead), Editor(graph, mode), _is_on_device(graph_module)
    moved: list[Offloaded] = []
    kept: dict[str, str] = {}
    for saved in find_saved(graph):
        if saved.num_bytes is not None and saved.num_bytes < config.offload_min_bytes:
            continue
        way = why_it_stays(saved, on_device) or route.of(saved)
        if isinstance(way, str):
            kept[saved.base.name] = way
        else:
            moved.append(send(saved, way, operators, editor))
    return Offload(tuple(moved), kept, config.offload_min_bytes)


def _is_on_device(graph_module: fx.GraphModule) -> bool:
    """Whether any value of the graph is on an accelerator."""
    values = (node.meta.get("val") for node in graph_module.graph.nodes)
    return any(tensor.device.type not in ("cpu", "meta") for value in values for tensor in tensors_of(value))
