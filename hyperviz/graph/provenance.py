"""Where a node of a joint graph came from: its phase, its module, and the forward node whose gradient it helps to compute.

What is written, and what is read elsewhere:

- ``meta["phase"]``: ``"forward"`` or ``"backward"``; the output node has none, for it belongs to both.
- ``meta["twin"]``: on backward nodes, the name of their forward node.
- ``meta["module_path"]``: fully qualified name of the module, for most backward nodes that of their twin; ``""`` for none or the root.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable

from torch import fx

_ROOT = re.compile(r"^L\['self'\]\.?|^L__self__\.?")
_INDEX = re.compile(r"\[['\"]?(\w+)['\"]?\]")


def write_provenance(graph: fx.Graph, first_backward: fx.Node | None) -> None:
    """Writes phase, twin and module path into every node's meta, and hands a twin's source and annotations on to its backward nodes.

    Args:
        graph: a joint graph whose forward nodes carry ``meta["seq_nr"]``, the autograd sequence number that was current when they ran, and
            whose backward nodes carry that of the gradient function that ran them, where one did.
        first_backward: the first node of the backward, or None where there is no backward.
    """
    nodes = [node for node in graph.nodes if node.op != "output"]
    start = nodes.index(first_backward) if first_backward is not None else len(nodes)
    forward, backward = nodes[:start], nodes[start:]
    for node in forward:
        node.meta["phase"] = "forward"
        node.meta.setdefault("module_path", module_path(node))
        _own_annotations(node)
    for node in backward:
        node.meta["phase"] = "backward"
        node.meta["module_path"] = module_path(node)
        _own_annotations(node)
    for node, twin in find_twins(forward, backward).items():
        _inherit(node, twin)


def find_twins(forward: Iterable[fx.Node], backward: list[fx.Node]) -> dict[fx.Node, fx.Node]:
    """Backward node → its forward node.

    The first forward node with a sequence number is the operator that made the gradient function; later ones with the same number are
    operators that autograd did not record. Backward nodes that no gradient function ran (the seed, the sum of gradients that meet at a
    value) belong to the value that their consumer differentiates, or else to what produced them.
    """
    made: dict[int, fx.Node] = {}
    for node in forward:
        if node.op not in ("placeholder", "get_attr") and "seq_nr" in node.meta:
            made.setdefault(node.meta["seq_nr"], node)
    twins = {node: made[node.meta["seq_nr"]] for node in backward if node.meta.get("seq_nr") in made}
    for node in reversed(backward):
        _adopt(twins, node, node.users)
    for node in backward:
        _adopt(twins, node, node.all_input_nodes)
    return twins


def _adopt(twins: dict[fx.Node, fx.Node], node: fx.Node, neighbours: Iterable[fx.Node]) -> None:
    found = next((twins[other] for other in neighbours if other in twins), None)
    if found is not None:
        twins.setdefault(node, found)


def _inherit(node: fx.Node, twin: fx.Node) -> None:
    node.meta["twin"] = twin.name
    node.meta["module_path"] = module_path(node) or twin.meta["module_path"]  # its own where activations are recomputed
    if twin.stack_trace:
        node.meta.setdefault("stack_trace", twin.stack_trace)
    if "custom" in twin.meta:
        node.meta["custom"] = copy.deepcopy(twin.meta["custom"]) | node.meta.get("custom", {})


def _own_annotations(node: fx.Node) -> None:
    """Ends the sharing of nested dicts between nodes traced under one ``torch.fx.traceback.annotate``, so that tagging one tags one."""
    if "custom" in node.meta:
        node.meta["custom"] = copy.deepcopy(node.meta["custom"])


def module_path(node: fx.Node) -> str:
    """Fully qualified name of the innermost module that was running, from torch's ``nn_module_stack``; ``""`` for none or the root.

    Reads what ``make_fx`` writes (``"blocks.0"``) and what Dynamo writes (``"L['self'].blocks[0]"``).
    """
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = next(reversed(stack.values()))[0]
    return _INDEX.sub(r".\1", _ROOT.sub("", path)).lstrip(".")
