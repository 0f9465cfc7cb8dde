"""What a node or a region costs, from shapes alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import fx
from torch.fx.node import map_arg
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from hyperviz.graph.kinds import is_higher_order, subgraphs
from hyperviz.graph.values import hinted, total_bytes


def node_flops(node: fx.Node) -> int | None:
    """Floating point operations of one node, by torch's own formulas (``torch.utils.flop_counter``); None where a size is symbolic.

    Only matmuls, convolutions and attention are counted, as torch does; every other operator counts 0, and what calls a graph or a
    module without a formula of its own is not known.
    """
    count = _count(node)
    return count if type(count) is int else None


def hinted_flops(node: fx.Node) -> int | None:
    """The same, with a symbolic size by the value that it had when the graph was traced; None where it had none."""
    return hinted(_count(node))


def _count(node: fx.Node) -> object:
    packet = getattr(node.target, "_overloadpacket", node.target)
    formula = _CPU_ATTENTION.get(str(packet)) or flop_registry.get(packet)
    if formula is None or node.op != "call_function":
        return None if _hides_work(node) else 0
    arguments = map_arg((node.args, node.kwargs), lambda argument: argument.meta.get("val"))
    try:
        return formula(*arguments[0], **arguments[1], out_val=node.meta.get("val"))  # pyright: ignore
    except (AttributeError, TypeError, ValueError, IndexError, AssertionError):  # a value is missing
        return None


def _hides_work(node: fx.Node) -> bool:
    """Whether the node calls a graph or a module: how often each operator in it runs, this graph does not say."""
    return node.op == "call_module" or (is_higher_order(node) and bool(subgraphs(node)))


def _attention_forward(query: Any, key: Any, value: Any, *_: object, **__: object) -> object:
    return sdpa_flop_count(query.shape, key.shape, value.shape)


def _attention_backward(gradient: Any, query: Any, key: Any, value: Any, *_: object, **__: object) -> object:
    return sdpa_backward_flop_count(gradient.shape, query.shape, key.shape, value.shape)


# Torch has no entry for attention as it is traced on the CPU; what is counted is that of its counterparts on a GPU.
_CPU_ATTENTION: dict[str, Callable[..., object]] = {
    "aten._scaled_dot_product_flash_attention_for_cpu": _attention_forward,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
}


def flops(nodes: Iterable[fx.Node]) -> int | None:
    """Sum over nodes; None if one is not known."""
    counts = [node_flops(node) for node in nodes]
    return None if any(count is None for count in counts) else sum(count for count in counts if count is not None)


def inputs_of(nodes: Sequence[fx.Node]) -> list[fx.Node]:
    """The distinct nodes outside that the nodes read, in order of first use."""
    members = set(nodes)
    return list({argument: None for node in nodes for argument in node.all_input_nodes if argument not in members})


def outputs_of(nodes: Sequence[fx.Node]) -> list[fx.Node]:
    """The members that something outside reads, in order."""
    members = set(nodes)
    return [node for node in nodes if any(user not in members for user in node.users)]


def value_bytes(nodes: Iterable[fx.Node]) -> int | None:
    """Bytes of the values of nodes; None if a value is missing or has a symbolic size."""
    nodes = list(nodes)
    if any("val" not in node.meta for node in nodes):
        return None
    return total_bytes(node.meta["val"] for node in nodes)
