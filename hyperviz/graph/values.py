"""Fake values: finding a graph's own fake mode, and giving every node a value on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree

from hyperviz.graph.calm import calm
from hyperviz.graph.kinds import operator_name, returns_nothing


def fake_mode_of(graph_module: fx.GraphModule) -> FakeTensorMode | None:
    """The fake mode on which a graph's values live: the first placeholder's, else the first found; None if it has no fake value."""
    nodes = list(graph_module.graph.nodes)
    for node in sorted(nodes, key=lambda node: node.op != "placeholder"):
        for tensor in tensors_of(node.meta.get("val")):
            if isinstance(tensor, FakeTensor):
                return tensor.fake_mode
    return None


def tensors_of(value: object) -> list[torch.Tensor]:
    """The tensors in a value, in order."""
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def check_placeholders(graph_module: fx.GraphModule) -> None:
    """Refuse a graph that cannot be compiled because its placeholders carry no fake values.

    Raises:
        ValueError: no placeholder has a fake value, or one lacks it; in the latter case its name is given.
    """
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    if placeholders and all("val" not in node.meta for node in placeholders):
        raise ValueError(
            f'the graph must be traced with make_fx, so that its placeholders carry fake values in meta["val"]: '
            f"none of its {len(placeholders)} placeholders does"
        )
    for node in placeholders:
        if "val" not in node.meta:
            raise ValueError(f'every placeholder must carry a fake value in meta["val"], but placeholder {node.name!r} has none')


def propagate(graph_module: fx.GraphModule) -> None:
    """Give every node that lacks one its fake value, in place, on the graph's own fake mode.

    A graph traced with real tensors has a fake mode per value; its values are brought onto the first placeholder's, since a
    compile must see one mode. Nodes that return nothing keep no value.

    Args:
        graph_module: every placeholder carries a value (see ``check_placeholders``).
    """
    mode = fake_mode_of(graph_module)
    if mode is None:
        return
    if _has_one_mode(graph_module, mode) and all("val" in node.meta or _needs_no_value(node) for node in _calls(graph_module)):
        return
    inputs = [on_mode(node.meta["val"], mode) for node in graph_module.graph.nodes if node.op == "placeholder"]
    _FillValues(graph_module, mode).propagate(*inputs)


def on_mode(value: object, mode: FakeTensorMode) -> object:
    """The value as ``mode`` sees it: itself if its tensors live there, else fakes of the same shape, stride, dtype and device."""

    def move(leaf: object) -> object:
        if not isinstance(leaf, torch.Tensor) or (isinstance(leaf, FakeTensor) and leaf.fake_mode is mode):
            return leaf
        with mode:
            return torch.empty_strided(
                leaf.shape, leaf.stride(), dtype=leaf.dtype, device=leaf.device, requires_grad=leaf.requires_grad and leaf.is_leaf
            )

    return pytree.tree_map(move, value)


class _FillValues(fx.Interpreter):
    """Runs the graph on fakes; keeps a value where one on the same mode is there already."""

    def __init__(self, graph_module: fx.GraphModule, mode: FakeTensorMode) -> None:
        super().__init__(graph_module)
        self.mode = mode

    def propagate(self, *inputs: object) -> None:
        with calm(), self.mode:
            super().run(*inputs)

    def run_node(self, n: fx.Node) -> object:
        if n.op == "placeholder":
            n.meta["val"] = super().run_node(n)
            return n.meta["val"]
        if "val" in n.meta and n.op != "output" and _is_on(n.meta["val"], self.mode):
            return n.meta["val"]
        if _needs_no_value(n):
            return None
        result = super().run_node(n)
        if result is not None:
            n.meta["val"] = result
        return result

    def call_module(self, target: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        raise AssertionError(f"module {target!r} must not run while values are propagated")

    def fetch_attr(self, target: str) -> object:
        value = super().fetch_attr(target)
        return self.mode.from_tensor(value) if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor) else value


def _needs_no_value(node: fx.Node) -> bool:
    """Whether nothing can read the node's value: it must not run for it, since running may be what a person sees."""
    if node.op == "output":
        return True
    return returns_nothing(node) or (not node.users and not operator_name(node.target)[0])


def _calls(graph_module: fx.GraphModule) -> Iterator[fx.Node]:
    return (node for node in graph_module.graph.nodes if node.op in ("call_function", "call_method", "get_attr"))


def _is_on(value: object, mode: FakeTensorMode) -> bool:
    return all(isinstance(tensor, FakeTensor) and tensor.fake_mode is mode for tensor in tensors_of(value))


def _has_one_mode(graph_module: fx.GraphModule, mode: FakeTensorMode) -> bool:
    return all(_is_on(node.meta["val"], mode) for node in graph_module.graph.nodes if "val" in node.meta and node.op != "get_attr")


def num_bytes(value: object) -> int | None:
    """Bytes of the tensors in a value; None where a size is symbolic."""
    total = 0
    for tensor in tensors_of(value):
        count = tensor.numel()
        if not isinstance(count, int):
            return None
        total += count * tensor.element_size()
    return total


def hinted_bytes(value: object) -> int | None:
    """Bytes of the tensors in a value, with a symbolic size by its hint; None where a size has none."""
    total = 0
    for tensor in tensors_of(value):
        count = hinted(tensor.numel())
        if count is None:
            return None
        total += count * tensor.element_size()
    return total


def hinted(size: object) -> int | None:
    """A whole number as it is, a symbolic one by the value that it had when the graph was traced; None where it had none."""
    if type(size) is int:
        return size
    hint = getattr(getattr(size, "node", None), "hint", None)
    return hint if type(hint) is int else None


def total_bytes(values: Iterable[object]) -> int | None:
    """Sum of ``num_bytes``; None where one is not known."""
    sizes: Sequence[int | None] = [num_bytes(value) for value in values]
    return None if any(size is None for size in sizes) else sum(size for size in sizes if size is not None)
