"""Takes out of a traced graph what tracing left there and no result needs; never what acts."""

from __future__ import annotations

import operator

import torch
from torch import fx

aten = torch.ops.aten


def tidy(graph: fx.Graph) -> int:
    """Removes ``detach`` and unused pure operators from a graph that runs without autograd.

    Matches::

        y = aten.detach(x)              → x    autograd's mark; without autograd it is x itself; and so is alias(x)
        z = aten.empty(…)  # no users   →      pure, and nobody reads it

    Safe because such a tensor shares x's memory, so writes into either are seen by both as before; where a user changes the tensor's
    shape in place (``t_``, ``resize_``), the alias is kept. An operator goes only if it writes nothing, draws no random number, returns
    something, and belongs to ``aten``: anything else acts, or may. Bit for bit the same results, and the same random numbers after them.

    Returns:
        How many nodes went.
    """
    before = len(graph.nodes)
    for node in list(graph.nodes):
        if is_alias(node) and not any(reshapes_in_place(user) for user in node.users):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    for node in reversed(list(graph.nodes)):
        if not node.users and is_pure(node):
            graph.erase_node(node)
    return before - len(graph.nodes)


def is_alias(node: fx.Node) -> bool:
    """Whether a node's value is its input, seen without autograd."""
    return node.op == "call_function" and node.target in (aten.detach.default, aten.alias.default)


def reshapes_in_place(node: fx.Node) -> bool:
    """Whether a node changes the metadata of a tensor that it is given, so that an alias would no longer be one."""
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.inplace_view in node.target.tags


def is_pure(node: fx.Node) -> bool:
    """Whether a node does nothing but produce its value; False where that is not known."""
    if node.op == "get_attr" or node.target is operator.getitem:
        return True
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload) or node.is_impure():
        return False
    if "batch_norm" in str(node.target):
        return False  # aten.native_batch_norm and its kin update running statistics, and their schemas do not say so
    schema = node.target._schema
    random = torch.Tag.nondeterministic_seeded in node.target.tags
    return node.target.namespace == "aten" and not schema.is_mutable and len(schema.returns) > 0 and not random
