"""Packing what several collectives send, communicating once, and taking the results apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import torch
from torch import fx

from hyperviz.graph.collectives import kind_of, named_arguments
from hyperviz.passes.buckets.members import GATHER, Member, c10d
from hyperviz.passes.fsdp.editor import Editor
from hyperviz.passes.fsdp.gathers import FREE

aten = torch.ops.aten
_CARRIED = ("phase", "fsdp_unit")


@dataclass(slots=True)
class Merger:
    """Merges groups of collectives in one graph.

    Attributes:
        editor: of the graph.
        renamed: name of a launch that is gone → name of the one that took its place.
        packed: name of a bucket of reductions → its wait, and the results taken out of it, in order.
    """

    editor: Editor
    renamed: dict[str, str] = field(default_factory=dict)
    packed: dict[str, tuple[fx.Node, list[fx.Node]]] = field(default_factory=dict)

    def merge(self, parts: Mapping[str, Sequence[Member]]) -> list[str]:
        """Makes one collective of each part of a group: every launch, then every wait; a part of one is only put in its place.

        Args:
            parts: bucket name → members; all of them launched, then waited for, at one place, as FSDPPass leaves them.

        Returns:
            The names of the launches.
        """
        members = [member for part in parts.values() for member in part]
        first, behind = min(member.wait for member in members), max(member.wait for member in members).next
        with self.editor.graph.inserting_before(first):
            launches = {name: self._launch(name, part, first) for name, part in parts.items()}
        with self.editor.graph.inserting_before(behind):
            for name, part in parts.items():
                if len(part) > 1:
                    self._replace(part, launches[name], self._take_apart(name, part, launches[name]))
                else:
                    behind.prepend(part[0].wait)
        for name, part in parts.items():
            mark(launches[name], name, part)
        return [launch.name for launch in launches.values()]

    def _launch(self, name: str, members: Sequence[Member], first: fx.Node) -> fx.Node:
        launch = members[0].launch
        if len(members) > 1:
            return (self._gather if launch.target is GATHER else self._reduce)(members, self._meta(name, members))
        for node in (launch.kwargs.get("out"), launch):
            if isinstance(node, fx.Node):
                first.prepend(node)
        return launch

    def _gather(self, members: Sequence[Member], meta: dict[str, Any]) -> fx.Node:
        """Shards end to end, gathered into one buffer."""
        editor, arguments = self.editor, dict(named_arguments(members[0].launch))
        degree, group = arguments["group_size"], arguments["group_name"]
        shard = editor.call(aten.cat.default, [_flat(editor, member.input, meta) for member in members], meta=meta)
        value = shard.meta["val"]
        size, options = [value.numel() * degree], {"dtype": value.dtype, "device": value.device, "pin_memory": False}
        buffer = editor.call(aten.empty.memory_format, size, meta=meta, **options)
        return editor.call(GATHER, shard, degree, group, out=buffer, meta=meta, value=editor.alias(buffer.meta["val"]))

    def _reduce(self, members: Sequence[Member], meta: dict[str, Any]) -> fx.Node:
        """Gradients side by side, reduced at once."""
        editor, arguments = self.editor, dict(named_arguments(members[0].launch))
        rows, target = arguments.get("group_size", 1), members[0].launch.target
        assert callable(target)
        whole = self._whole(members) or _side_by_side(editor, [member.input for member in members], rows, meta)
        height, width = whole.meta["val"].shape
        value = editor.empty((height // rows, width), whole.meta["val"])
        plain = [argument for argument in arguments.values() if not isinstance(argument, fx.Node)]
        return editor.call(target, whole, *plain, meta=meta, value=value)

    def _take_apart(self, name: str, members: Sequence[Member], launch: fx.Node) -> list[fx.Node]:
        """The wait, and what each member's wait returned before: copies out of a gather, views of a reduction."""
        editor, meta = self.editor, self._meta(name, members)
        wait = editor.call(c10d.wait_tensor.default, launch, meta=meta, value=editor.alias(launch.meta["val"]))
        if launch.target is GATHER:
            widths = [member.input.meta["val"].numel() for member in members]
            by_rank = editor.call(aten.view.default, wait, [wait.meta["val"].numel() // sum(widths), sum(widths)], meta=meta)
            pieces = _columns(editor, by_rank, widths, meta)
            results = [self._copied_out(piece, member, meta) for piece, member in zip(pieces, members, strict=True)]
            editor.graph.create_node("call_function", FREE, (wait, 0), name="free").meta.update(meta)
            return results
        shapes = [list(member.wait.meta["val"].shape) for member in members]
        pieces = _columns(editor, wait, [prod(shape) for shape in shapes], meta)
        results = [
            editor.call(aten.view.default, piece, shape, meta={**meta, **_own(member)})
            for piece, shape, member in zip(pieces, shapes, members, strict=True)
        ]
        self.packed[name] = (wait, results)
        return results

    def _copied_out(self, piece: fx.Node, member: Member, meta: dict[str, Any]) -> fx.Node:
        """One parameter, in memory of its own; its fake value is the old one's, with which the views of it share memory."""
        editor, whole = self.editor, member.wait.meta["val"]
        meta = {**meta, **_own(member)}
        with torch.no_grad(), editor.mode:
            value = whole.view(piece.meta["val"].shape)
        copy = editor.call(aten.clone.default, piece, memory_format=torch.contiguous_format, meta=meta, value=value)
        return editor.call(aten.view.default, copy, list(whole.shape), meta=meta, value=whole)

    def _whole(self, members: Sequence[Member]) -> fx.Node | None:
        """The result of another bucket that the members are, in order, the whole of: it needs no packing."""
        wait, pieces = self.packed.get(members[0].input.meta.get("bucket", ""), (None, []))
        return wait if pieces == [member.input for member in members] else None

    def _meta(self, name: str, members: Sequence[Member]) -> dict[str, Any]:
        first = members[0].launch.meta
        twin = first.get("twin", "")
        carried = {key: first[key] for key in _CARRIED if key in first}
        return {**carried, "module_path": first.get("fsdp_unit", ""), "bucket": name, "twin": self.renamed.get(twin, twin)}

    def _replace(self, members: Sequence[Member], launch: fx.Node, results: Sequence[fx.Node]) -> None:
        """Lets what read the old waits read the results, and takes the old collectives out."""
        for member, result in zip(members, results, strict=True):
            buffer, inputs = member.launch.kwargs.get("out"), member.launch.all_input_nodes
            member.wait.replace_all_uses_with(result)
            for node in (member.wait, member.launch, *([buffer] if isinstance(buffer, fx.Node) else [])):
                node.graph.erase_node(node)
            _erase_unread(inputs)
            self.renamed[member.launch.name] = launch.name


def mark(launch: fx.Node, name: str, members: Sequence[Member]) -> None:
    """Writes the bucket's name on what FSDPPass made for its parameters: paddings, divisions, views and frees."""
    fqns = {member.fqn for member in members}
    waiting, seen = [launch], set()
    while waiting:
        node = waiting.pop()
        if node in seen or node.op == "placeholder":
            continue
        seen.add(node)
        node.meta["bucket"] = name
        waiting += [other for other in (*node.all_input_nodes, *node.users) if _belongs(other, name, fqns)]


def _belongs(node: fx.Node, name: str, fqns: set[str]) -> bool:
    return not kind_of(node) and node.meta.get("bucket", name if node.meta.get("fsdp_param") in fqns else "") == name


def _own(member: Member) -> dict[str, Any]:
    return {key: member.wait.meta[key] for key in ("module_path", "fsdp_param") if key in member.wait.meta}


def _flat(editor: Editor, node: fx.Node, meta: dict[str, Any]) -> fx.Node:
    return node if node.meta["val"].dim() == 1 else editor.call(aten.view.default, node, [-1], meta=meta)


def _side_by_side(editor: Editor, nodes: Sequence[fx.Node], rows: int, meta: dict[str, Any]) -> fx.Node:
    """Tensors as columns of one matrix: a row of it is what one rank gets."""
    columns = [editor.call(aten.view.default, node, [rows, node.meta["val"].numel() // rows], meta=meta) for node in nodes]
    return editor.call(aten.cat.default, columns, 1, meta=meta)


def _columns(editor: Editor, matrix: fx.Node, widths: Sequence[int], meta: dict[str, Any]) -> list[fx.Node]:
    edges = accumulate(widths, initial=0)
    return [editor.call(aten.slice.Tensor, matrix, 1, start, end, meta=meta) for start, end in pairwise(edges)]


def _erase_unread(nodes: Sequence[fx.Node]) -> None:
    """Takes out results of another bucket that nothing reads any more."""
    for node in nodes:
        if not node.users and "bucket" in node.meta:
            inputs = node.all_input_nodes
            node.graph.erase_node(node)
            _erase_unread(inputs)
