"""Where sharded parameters are made whole, and where that memory is given back."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx
from torch.fx.node import has_side_effect

from hyperviz.graph.kinds import is_getitem
from hyperviz.passes.fsdp.editor import Editor
from hyperviz.passes.fsdp.group import ShardGroup
from hyperviz.passes.fsdp.layout import ShardLayout
from hyperviz.passes.fsdp.uses import Uses

aten, c10d = torch.ops.aten, torch.ops._c10d_functional
FREE = torch.ops.inductor.resize_storage_bytes_.default
has_side_effect(FREE)  # torch before 2.7 leaves it to whoever puts the operator into a graph


@dataclass(frozen=True, slots=True)
class Parameter:
    """A sharded parameter in a graph.

    Attributes:
        fqn: its name.
        unit: the wrapped module that it is gathered with.
        node: its placeholder, which stands for the shard from now on.
        layout: how it is cut.
        uses: where the graph reads it.
    """

    fqn: str
    unit: str
    node: fx.Node
    layout: ShardLayout
    uses: Uses

    def meta(self, phase: str, **more: Any) -> dict[str, Any]:
        """What a node that is made for the parameter carries."""
        return {"phase": phase, "module_path": self.fqn.rpartition(".")[0], "fsdp_unit": self.unit, "fsdp_param": self.fqn, **more}


@dataclass(frozen=True, slots=True)
class Gathered:
    """A parameter made whole.

    Attributes:
        launch: the gather.
        wait: its wait; its memory is that of the whole parameter.
        whole: the parameter in its own shape, a view of ``wait``.
    """

    launch: fx.Node
    wait: fx.Node
    whole: fx.Node


def gather_unit(
    parameters: Sequence[Parameter], resharded: bool, kept: Container[str], group: ShardGroup, editor: Editor
) -> tuple[int, int]:
    """Makes the parameters of one wrapped module whole before their first use and, if resharded, again in the backward.

    Args:
        parameters: of the module.
        resharded: whether they are freed after the forward.
        kept: names of those that are not, all the same.
        group: the ranks that share them.
        editor: of the graph.

    Returns:
        How many gathers and how many frees were inserted.
    """
    num_gathers = num_frees = 0
    once = [parameter for parameter in parameters if parameter.uses.forward or (not resharded and parameter.uses.backward)]
    gathered: dict[str, Gathered] = {}
    if once:
        start = min(_uses(parameter, resharded)[0] for parameter in once)
        phase = start.meta.get("phase") or ("backward" if start.op == "output" else "forward")
        gathered = _gather(once, start, phase, {}, group, editor)
        num_gathers += len(gathered)
    if resharded:
        again = [parameter for parameter in parameters if parameter.uses.backward and parameter.fqn not in kept]
        if again:
            twins = {fqn: parts.launch.name for fqn, parts in gathered.items()}
            start = min(parameter.uses.backward[0] for parameter in again)
            for parameter, parts in zip(again, _gather(again, start, "backward", twins, group, editor).values(), strict=True):
                _use_in_backward(parameter, parts, start, editor)
            num_gathers += len(again)
    for parameter in once:
        _use(parameter, gathered[parameter.fqn], editor)
    freed = [parameter for parameter in once if parameter.fqn not in kept]
    if resharded and freed:
        num_frees = _free(freed, gathered, editor)
    return num_gathers, num_frees


def _uses(parameter: Parameter, resharded: bool) -> tuple[fx.Node, ...]:
    return parameter.uses.forward if resharded or parameter.uses.forward else parameter.uses.backward


def _gather(
    parameters: Sequence[Parameter], before: fx.Node, phase: str, twins: dict[str, str], group: ShardGroup, editor: Editor
) -> dict[str, Gathered]:
    """Every launch, then every wait, then the views."""
    metas = [parameter.meta(phase, **({"twin": twins[parameter.fqn]} if parameter.fqn in twins else {})) for parameter in parameters]
    with editor.graph.inserting_before(before):
        launches = [_launch(parameter, meta, group, editor) for parameter, meta in zip(parameters, metas, strict=True)]
        waits = [
            editor.call(c10d.wait_tensor.default, launch, meta=meta, value=editor.alias(launch.meta["val"]))
            for launch, meta in zip(launches, metas, strict=True)
        ]
        wholes = [_whole(wait, parameter.layout, meta, editor) for wait, parameter, meta in zip(waits, parameters, metas, strict=True)]
    parts = map(Gathered, launches, waits, wholes)
    return {parameter.fqn: part for parameter, part in zip(parameters, parts, strict=True)}


def _launch(parameter: Parameter, meta: dict[str, Any], group: ShardGroup, editor: Editor) -> fx.Node:
    """A gather into a buffer of its own: gloo corrupts memory when several gathers that allocate for themselves are in flight."""
    shard = parameter.node.meta["val"]
    shape = list(parameter.layout.gathered_shape)
    buffer = editor.call(aten.empty.memory_format, shape, dtype=shard.dtype, device=shard.device, pin_memory=False, meta=meta)
    value = editor.alias(buffer.meta["val"])
    gather = c10d.all_gather_into_tensor_out.default
    return editor.call(gather, parameter.node, group.degree, group.name, out=buffer, meta=meta, value=value)


def _whole(wait: fx.Node, layout: ShardLayout, meta: dict[str, Any], editor: Editor) -> fx.Node:
    """Views that cut off the padding and restore the parameter's own order of dimensions."""
    node = wait
    if layout.padding:
        node = editor.call(aten.slice.Tensor, node, 0, 0, layout.rows, meta=meta)
    if not layout.order:
        return editor.call(aten.view.default, node, [], meta=meta)
    if layout.inverse != tuple(range(len(layout.order))):
        node = editor.call(aten.permute.default, node, list(layout.inverse), meta=meta)
    return node


def _use(parameter: Parameter, parts: Gathered, editor: Editor) -> None:
    """Lets what reads the placeholder read the whole parameter."""
    parameter.node.replace_all_uses_with(parts.whole, delete_user_cb=lambda user: user.target is not parts.launch.target)
    for node in parameter.uses.derived:
        node.meta["val"] = editor.value(node)


def _use_in_backward(parameter: Parameter, parts: Gathered, before: fx.Node, editor: Editor) -> None:
    """Lets the backward read the second gather, and views and casts of it that are made again."""
    made = {parameter.node: parts.whole}

    def again(node: fx.Node) -> fx.Node:
        if node not in family:
            return node
        if node not in made:
            sources = {source: again(source) for source in node.all_input_nodes}
            with editor.graph.inserting_before(before):
                made[node] = editor.copy(node, sources.__getitem__, {"phase": "backward", "twin": node.name})
        return made[node]

    family = {parameter.node, *parameter.uses.derived}
    for reader in parameter.uses.backward:
        for source in reader.all_input_nodes:
            if source in family:
                reader.replace_input_with(source, again(source))


def _free(parameters: Sequence[Parameter], gathered: dict[str, Gathered], editor: Editor) -> int:
    """Empties the gathered storages behind the last forward use of any of them."""
    last = max(parameter.uses.forward[-1] for parameter in parameters)
    while is_getitem(last.next) and last.next.args[0] is last:
        last = last.next
    with editor.graph.inserting_before(last.next):
        for parameter in parameters:
            node = editor.graph.create_node("call_function", FREE, (gathered[parameter.fqn].wait, 0), name="free")
            node.meta.update(parameter.meta(last.meta.get("phase", "forward"), twin=""))
    return len(parameters)
