"""What kind of thing a node is: read off its target, never off its name."""

from __future__ import annotations

import operator
from functools import lru_cache

import torch
from torch import fx
from torch.fx.node import _side_effectful_functions

COMMUNICATION_NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd", "c10d", "symm_mem", "_dtensor")
OFFLOAD_NAMESPACES = ("ao",)
_P2P = ("isend", "irecv", "batch_p2p_ops", "send", "recv_", "recv_any_source_")
_ALLOCATIONS = frozenset(
    ("aten", name) for name in ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted")
)
_CALLS = ("call_function", "call_method", "call_module")


def is_call(node: fx.Node) -> bool:
    """Whether the node calls something: a function, a method or a module."""
    return node.op in _CALLS


@lru_cache(maxsize=4096)
def operator_name(target: object) -> tuple[str, str]:
    """Namespace and name of an operator, as in ``("aten", "mm")``; ``("", …)`` for what is no operator."""
    packet = getattr(target, "_overloadpacket", target)
    if isinstance(packet, torch._ops.OpOverloadPacket):
        namespace, _, name = packet._qualified_op_name.partition("::")
        return namespace, name
    if isinstance(target, torch._ops.HigherOrderOperator):
        return getattr(target, "namespace", "higher_order"), target.name().rpartition("::")[2]
    return "", getattr(target, "__name__", str(target))


@lru_cache(maxsize=4096)
def schema_of(target: object) -> torch._C.FunctionSchema | None:
    """The operator's schema, or None for what has none; a packet is read as its default overload."""
    if isinstance(target, torch._ops.OpOverloadPacket):
        target = getattr(target, "default", None)
    schema = getattr(target, "_schema", None)
    return schema if isinstance(schema, torch._C.FunctionSchema) else None


def returns_nothing(node: fx.Node) -> bool:
    """Whether the operator's schema says that it returns nothing."""
    schema = schema_of(node.target) if node.op == "call_function" else None
    return schema is not None and not schema.returns


def is_communication(node: fx.Node) -> bool:
    """Whether the node launches or waits for communication."""
    return node.op == "call_function" and operator_name(node.target)[0] in COMMUNICATION_NAMESPACES


def is_wait(node: fx.Node) -> bool:
    """Whether the node waits for communication that another node launched."""
    return is_communication(node) and operator_name(node.target)[1] == "wait_tensor"


def is_free(node: fx.Node) -> bool:
    """Whether the node gives the memory of a storage back, or takes it again."""
    return node.op == "call_function" and operator_name(node.target) == ("inductor", "resize_storage_bytes_")


def is_point_to_point(node: fx.Node) -> bool:
    """Whether the node sends to, or receives from, one other rank."""
    return is_communication(node) and operator_name(node.target)[1] in _P2P


def is_getitem(node: fx.Node) -> bool:
    """Whether the node takes one result of a producer that has several."""
    if node.op != "call_function" or node.target is not operator.getitem or not isinstance(node.args[0], fx.Node):
        return False
    value = node.args[0].meta.get("val")
    return isinstance(value, (tuple, list)) or (value is None and isinstance(node.args[1], int) and _has_many_results(node.args[0]))


def is_view(node: fx.Node) -> bool:
    """Whether all that the operator returns is a view of its first argument, to which it writes nothing; judged by its schema."""
    return node.op == "call_function" and bool(node.args) and isinstance(node.args[0], fx.Node) and _returns_views(node.target)


@lru_cache(maxsize=4096)
def _returns_views(target: object) -> bool:
    schema = schema_of(target)
    if operator_name(target) == ("aten", "_unsafe_view"):  # its result is one, which autograd is not told
        return True
    if schema is None or not schema.returns or not schema.arguments:
        return False
    alias = schema.arguments[0].alias_info
    return alias is not None and not alias.is_write and all(result.alias_info is not None for result in schema.returns)


def is_work(node: fx.Node) -> bool:
    """Whether the node computes: a call that is no communication, no effect, no view, and does not merely allocate."""
    if not is_call(node) or is_communication(node) or is_getitem(node) or is_view(node) or has_registered_effect(node.target):
        return False
    return not is_allocation(node) and operator_name(node.target)[0] not in OFFLOAD_NAMESPACES


def is_allocation(node: fx.Node) -> bool:
    """Whether the node makes memory and leaves it uninitialised."""
    return node.op == "call_function" and operator_name(node.target) in _ALLOCATIONS


def _has_many_results(node: fx.Node) -> bool:
    schema = schema_of(node.target)
    return schema is not None and (len(schema.returns) > 1 or any(isinstance(result.type, torch.ListType) for result in schema.returns))


def is_higher_order(node: fx.Node) -> bool:
    """Whether the node calls graphs that hang on the module, as ``torch.cond`` does."""
    return isinstance(node.target, torch._ops.HigherOrderOperator)


def subgraphs(node: fx.Node) -> list[fx.GraphModule]:
    """The graphs that a higher-order operator calls."""
    root = node.graph.owning_module
    found = []
    for argument in node.all_input_nodes:
        if argument.op == "get_attr" and root is not None:
            value = attribute(root, str(argument.target))
            if isinstance(value, fx.GraphModule):
                found.append(value)
    return found


def attribute(root: torch.nn.Module, path: str) -> object:
    """What a ``get_attr`` target names, or None where it names nothing."""
    value: object = root
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def is_object_attribute(node: fx.Node) -> bool:
    """Whether a ``get_attr`` node reads a graph, a process group or another object: what cannot be an input of a compiled region."""
    root = node.graph.owning_module
    return node.op == "get_attr" and root is not None and not isinstance(attribute(root, str(node.target)), torch.Tensor)


def is_random(node: fx.Node) -> bool:
    """Whether the node draws from a random number generator."""
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def has_registered_effect(target: object) -> bool:
    """Whether torch was told that the operator has an effect that data edges do not show."""
    if target in _side_effectful_functions or getattr(target, "_overloadpacket", None) in _side_effectful_functions:
        return True
    try:
        from torch._higher_order_ops.effects import _get_effect
    except ImportError:  # torch < 2.9 knows only ordered effects, under another name
        return False
    return isinstance(target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)) and _get_effect(target) is not None
