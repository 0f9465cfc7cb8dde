"""What every node of a graph is to a compiler, and why: its role, and the reason why it must stay eager."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from torch import fx

from hyperviz.analysis.memory import written
from hyperviz.graph.kinds import (
    OFFLOAD_NAMESPACES,
    has_registered_effect,
    is_communication,
    is_getitem,
    is_higher_order,
    is_point_to_point,
    is_wait,
    operator_name,
    returns_nothing,
    subgraphs,
)

_TRANSPARENT_MODULES = ("torch", "operator", "_operator", "math")
_TRANSPARENT_BUILTINS = frozenset({"abs", "getattr", "max", "min", "pow", "round", "sum"})


@dataclass(frozen=True, slots=True)
class Placement:
    """What a node is, judged by itself.

    Attributes:
        role: one of ``hyperviz.snapshot.ROLES``.
        reason: why it stays eager in regional mode; empty for what may be compiled.
        full: why it stays eager in full mode; empty for what may be compiled there.
    """

    role: str
    reason: str = ""
    full: str = ""


def classify(node: fx.Node, keep_eager: Iterable[str] = ()) -> Placement:
    """The placement of one node, judged by itself.

    Whether a write is seen outside its run is not known here; ``hyperviz.analysis.regions`` adds it.

    Args:
        node: any node.
        keep_eager: names, targets and module paths, or globs of them, that a person wants eager.
    """
    if node.op in ("placeholder", "get_attr"):
        return Placement("placeholder")
    if node.op == "output":
        return Placement("output")
    if node.op == "call_module":
        return _always("eager", f"calls the module {node.target!s}, which this graph does not show")
    if is_getitem(node) and isinstance(producer := node.args[0], fx.Node):
        return classify(producer, keep_eager)
    if is_communication(node):
        return _communication(node)
    if reason := _opaque_effect(node):
        return _always("effect", reason)
    if returns_nothing(node):
        return _returns_nothing(node)
    if reason := _kept(node, keep_eager):
        return _always("eager", reason)
    if launch := _only_gathered_into(node):
        return Placement("eager", f"allocates the memory that {launch.name} fills: it starts the gather and would be a region of one call")
    if is_higher_order(node) and (reason := _effect_inside(node)):
        return _always("eager", reason)
    return Placement("compute")


def _always(role: str, reason: str) -> Placement:
    return Placement(role, reason, reason)


def _communication(node: fx.Node) -> Placement:
    if is_point_to_point(node):
        return _always("collective", "point-to-point communication: the order of sends and receives must hold, or ranks hang")
    if is_wait(node):
        return Placement("wait", "waits for communication: it marks the end of a window that compute may hide")
    return Placement("collective", "launches communication: its place in the order is the schedule")


def _opaque_effect(node: fx.Node) -> str:
    namespace, name = operator_name(node.target)
    if node.op == "call_method":
        return ""
    if namespace in OFFLOAD_NAMESPACES:
        return "offload: it owns a transfer stream and events outside any region"
    if name == "with_effects" and namespace == "higher_order":
        return "carries an effect token: the effect happens once, in order"
    if has_registered_effect(node.target):
        return f"{namespace + '.' if namespace else ''}{name} is registered as side-effectful"
    if not namespace and not _is_transparent(node.target):
        return f"calls the Python function {name!r}, which no compiler can see into"
    return ""


def _returns_nothing(node: fx.Node) -> Placement:
    namespace, name = operator_name(node.target)
    reason = f"{namespace}.{name} returns nothing: it is called for its effect"
    # What an aten operator writes to is in its schema, so full mode may compile it; of a custom one nothing is known.
    return Placement("effect", reason) if namespace == "aten" and written(node) else _always("effect", reason)


def _is_transparent(target: object) -> bool:
    module = getattr(target, "__module__", None) or ""
    if module == "builtins":
        return getattr(target, "__name__", "") in _TRANSPARENT_BUILTINS
    # Functions made in C, such as torch.relu, have no module of their own.
    return not module or module.partition(".")[0] in _TRANSPARENT_MODULES


def _kept(node: fx.Node, keep_eager: Iterable[str]) -> str:
    namespace, name = operator_name(node.target)
    names = (node.name, str(node.target), f"{namespace}.{name}" if namespace else name, str(node.meta.get("module_path", "")))
    for pattern in keep_eager:
        if any(candidate and fnmatchcase(candidate, pattern) for candidate in names):
            return f"kept eager on request: matches {pattern!r}"
    return ""


def _only_gathered_into(node: fx.Node) -> fx.Node | None:
    """The launch that an uninitialised buffer is made for, if nothing else reads it."""
    if operator_name(node.target) not in (("aten", "empty"), ("aten", "new_empty")) or not node.users:
        return None
    return next(iter(node.users)) if all(is_communication(user) and not is_wait(user) for user in node.users) else None


def _effect_inside(node: fx.Node) -> str:
    for graph_module in subgraphs(node):
        for inner in graph_module.graph.nodes:
            placement = classify(inner)
            if placement.reason or written(inner):
                return f"calls a graph in which {inner.name} must stay eager: {placement.reason or 'it writes to memory'}"
    return ""
