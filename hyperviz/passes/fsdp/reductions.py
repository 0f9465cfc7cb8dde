"""Where gradients become the mean over all ranks: scattered for sharded parameters, whole for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx

from hyperviz.graph.kinds import is_getitem
from hyperviz.passes.fsdp.editor import Editor
from hyperviz.passes.fsdp.group import ShardGroup
from hyperviz.passes.fsdp.layout import ShardLayout

aten, c10d = torch.ops.aten, torch.ops._c10d_functional


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of one parameter, on its way out of the graph.

    Attributes:
        fqn: the parameter's name.
        unit: the wrapped module that it is reduced with; empty also for one outside every wrapped module.
        output: its place in the outputs.
        layout: of its parameter; None for a replicated one.
        twin: name of the forward node that its reduction answers: the gather, or empty.
    """

    fqn: str
    unit: str
    output: int
    layout: ShardLayout | None
    twin: str = ""

    def meta(self) -> dict[str, Any]:
        """What a node that is made for it carries."""
        path = self.fqn.rpartition(".")[0]
        return {"phase": "backward", "module_path": path, "twin": self.twin, "fsdp_unit": self.unit, "fsdp_param": self.fqn}


def reduce_together(gradients: Sequence[Gradient], group: ShardGroup, editor: Editor) -> None:
    """Reduces gradients behind the last of them: every launch, then every wait; the graph returns the means.

    The division comes before the sum: it joins the compute that made the gradient, and keeps half precision from overflowing.
    """
    outputs = list(_outputs(editor.graph))
    values = [outputs[gradient.output] for gradient in gradients]
    with editor.graph.inserting_before(_behind(max(values))):
        ready = [_ready(gradient, value, group, editor) for gradient, value in zip(gradients, values, strict=True)]
        results = _reduce(gradients, ready, group, editor)
    for gradient, result in zip(gradients, results, strict=True):
        outputs[gradient.output] = result
    node = editor.graph.output_node()
    node.args = (type(node.args[0])(outputs),)  # pyright: ignore


def _outputs(graph: fx.Graph) -> Sequence[Any]:
    return graph.output_node().args[0]  # pyright: ignore[reportReturnType]


def _behind(node: fx.Node) -> fx.Node:
    """The node that follows, past what takes results out of it and past the placeholders."""
    following = node.next
    while following.op == "placeholder" or (is_getitem(node) and is_getitem(following) and following.args[0] is node.args[0]):
        following = following.next
    return following


def _ready(gradient: Gradient, value: fx.Node, group: ShardGroup, editor: Editor) -> fx.Node:
    """The gradient divided, in the order and with the padding of the shards, contiguous."""
    meta, layout, node = gradient.meta(), gradient.layout, value
    if layout is not None and not layout.order:
        node = editor.call(aten.view.default, node, [1], meta=meta)
    elif layout is not None and layout.order != tuple(range(len(layout.order))):
        node = editor.call(aten.permute.default, node, list(layout.order), meta=meta)
    node = editor.call(aten.div.Tensor, node, group.num_ranks, meta=meta)
    if layout is not None and layout.padding:
        pad = [0, 0] * len(layout.inner_shape) + [0, layout.padding]
        node = editor.call(aten.constant_pad_nd.default, node, pad, 0.0, meta=meta)
    if not node.meta["val"].is_contiguous():
        node = editor.call(aten.clone.default, node, memory_format=torch.contiguous_format, meta=meta)
    return node


def _reduce(gradients: Sequence[Gradient], ready: Sequence[fx.Node], group: ShardGroup, editor: Editor) -> list[fx.Node]:
    launches = [_launch(gradient, node, group, editor) for gradient, node in zip(gradients, ready, strict=True)]
    waits = _wait(gradients, launches, editor)
    if group.num_replicas == 1:
        return waits
    sharded = [gradient for gradient in gradients if gradient.layout is not None]
    again = [
        _all_reduce(wait, group.replicas, gradient.meta(), editor)
        for gradient, wait in zip(gradients, waits, strict=True)
        if gradient.layout is not None
    ]
    means = dict(zip([gradient.fqn for gradient in sharded], _wait(sharded, again, editor), strict=True))
    return [means.get(gradient.fqn, wait) for gradient, wait in zip(gradients, waits, strict=True)]


def _launch(gradient: Gradient, node: fx.Node, group: ShardGroup, editor: Editor) -> fx.Node:
    if gradient.layout is None:
        return _all_reduce(node, group.everyone, gradient.meta(), editor)
    value = editor.empty(gradient.layout.shard_shape, node.meta["val"])
    target = c10d.reduce_scatter_tensor.default
    return editor.call(target, node, "sum", group.degree, group.name, meta=gradient.meta(), value=value)


def _all_reduce(node: fx.Node, group_name: str, meta: dict[str, Any], editor: Editor) -> fx.Node:
    value = editor.empty(tuple(node.meta["val"].shape), node.meta["val"])
    return editor.call(c10d.all_reduce.default, node, "sum", group_name, meta=meta, value=value)


def _wait(gradients: Sequence[Gradient], launches: Sequence[fx.Node], editor: Editor) -> list[fx.Node]:
    return [
        editor.call(c10d.wait_tensor.default, launch, meta=gradient.meta(), value=editor.alias(launch.meta["val"]))
        for gradient, launch in zip(gradients, launches, strict=True)
    ]
