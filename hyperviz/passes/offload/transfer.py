"""Putting the four nodes of one offload into a graph, and letting the backward read what came back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import fx

from hyperviz.graph.kinds import is_getitem, is_work
from hyperviz.passes.fsdp.editor import Editor
from hyperviz.passes.offload.plan import Offloaded
from hyperviz.passes.offload.saved import Saved, memory_of


@dataclass(frozen=True, slots=True)
class Operators:
    """What torch moves memory between an accelerator and its host with.

    Attributes:
        offload: starts to copy a tensor to pinned host memory, on a stream of its own.
        reload: starts to copy it back, into a layout that it is told.
        wait: lets compute wait for one of them, then frees what was copied from.
    """

    offload: Callable[..., Any]
    reload: Callable[..., Any]
    wait: Callable[..., Any]

    @classmethod
    def of_torch(cls) -> Operators:
        """The operators of this torch.

        Raises:
            ValueError: it has none.
        """
        try:
            import_module("torch._functorch._activation_offloading.offload_ops")  # registers them
        except ImportError:
            names = "ao::offload, ao::reload and ao::wait_tensor"
            raise ValueError(
                f"offload_enabled needs torch's operators {names}, which torch 2.13 has, got torch {torch.__version__}"
            ) from None
        ao = torch.ops.ao
        return cls(ao.offload.default, ao.reload.default, ao.wait_tensor.default)


@dataclass(frozen=True, slots=True)
class Way:
    """Where the nodes of an offload go: each in front of a node of the graph as it was.

    Attributes:
        out: behind the last node of the forward that reads the value.
        freed: as many operators with work later as a transfer is given.
        reload: as many before the first node of the backward that reads it.
        back: that node.
    """

    out: fx.Node
    freed: fx.Node
    reload: fx.Node
    back: fx.Node


class Route:
    """Finds the way of each value in one graph."""

    def __init__(self, graph: fx.Graph, ahead: int) -> None:
        self.nodes = list(graph.nodes)
        self.position = {node: index for index, node in enumerate(self.nodes)}
        self.work = [index for index, node in enumerate(self.nodes) if is_work(node)]
        self.ahead = ahead

    def of(self, saved: Saved) -> Way | str:
        """The way, or why there is none: too few operators run while the value would be away."""
        last, first = self.position[saved.forward[-1]], self.position[saved.backward[0]]
        between = self.work[bisect_right(self.work, last) : bisect_right(self.work, first - 1)]
        if len(between) <= 2 * self.ahead:
            ran = f"{len(between)} operator{' runs' if len(between) == 1 else 's run'}"
            return f"only {ran} between its last use in the forward and its first in the backward: too few to be away"
        out = self.nodes[last + 1]
        while is_getitem(out) and out.args[0] in saved.forward:
            out = out.next
        return Way(out, self.nodes[between[self.ahead]], self.nodes[between[len(between) - self.ahead]], self.nodes[first])


def send(saved: Saved, way: Way, operators: Operators, editor: Editor) -> Offloaded:
    """Copies a value out, frees it, copies it in, and lets the backward read that, with its views made again."""
    base, value, graph = saved.base, saved.base.meta["val"], editor.graph
    kept = {key: base.meta[key] for key in ("module_path", "stack_trace") if key in base.meta}
    forward, backward = {**kept, "phase": "forward"}, {**kept, "phase": "backward", "twin": base.name}
    with graph.inserting_before(way.out):
        offload = editor.call(operators.offload, base, meta=forward)
    with graph.inserting_before(way.freed):
        on_host = editor.call(operators.wait, offload, base, meta=forward, value=editor.alias(offload.meta["val"]))
    with graph.inserting_before(way.reload):
        layout = (value.device, list(value.shape), list(value.stride()))
        reload = editor.call(operators.reload, on_host, *layout, meta=backward)
    with graph.inserting_before(way.back):
        back = editor.call(operators.wait, reload, on_host, meta=backward, value=editor.alias(reload.meta["val"]))
        _read(saved, back, editor)
    return Offloaded(base.name, saved.num_bytes or 0, offload.name, on_host.name, reload.name, back.name)


def _read(saved: Saved, back: fx.Node, editor: Editor) -> None:
    """Lets the backward read what came back, and the views of it that it needs, made again where the graph's insertion point is."""
    made = {saved.base: back}

    def again(node: fx.Node) -> fx.Node:
        if node not in made:
            sources = {source: again(source) for source in node.all_input_nodes}
            made[node] = editor.copy(node, sources.__getitem__, {"phase": "backward", "twin": node.name})
        return made[node]

    family = set(saved.family)
    for reader in saved.backward:
        for source in reader.all_input_nodes:
            if source in family:
                reader.replace_input_with(source, again(source))
    _share(saved, editor)


def _share(saved: Saved, editor: Editor) -> None:
    """Lets the views that the backward makes itself share memory with what came back, in their fake values too."""
    before, waiting = memory_of(saved.base), list(reversed(saved.backward))
    while waiting:
        node = waiting.pop()
        if node.op != "output" and before is not None and memory_of(node) == before:
            node.meta["val"] = editor.value(node)
            waiting += sorted(node.users, reverse=True)
