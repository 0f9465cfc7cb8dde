"""Which nodes share memory, and which write to it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import fx
from torch.fx.node import map_arg
from torch.multiprocessing.reductions import StorageWeakRef

from hyperviz.graph.kinds import is_getitem, is_wait, operator_name, schema_of
from hyperviz.graph.values import tensors_of

_INPLACE_FUNCTIONS = frozenset(
    getattr(operator, name)
    for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "imatmul", "setitem")
)
_MAY_ALIAS = frozenset({"reshape", "contiguous", "to", "flatten", "type_as", "expand_as", "view_as", "reshape_as", "_reshape_alias"})


class Memory:
    """The memory of a graph, as classes of nodes whose values share storage.

    Two nodes are in one class if their fake values share storage, if the operator's schema says that its result is a view of an
    argument, if a result is taken out of one of several, or if one waits for the other. Without fake values the schema alone speaks,
    and what has none is taken to alias what it reads.
    """

    def __init__(self, graph: fx.Graph) -> None:
        self._parent: dict[fx.Node, fx.Node] = {}
        self._touching: dict[fx.Node, list[fx.Node]] | None = None
        self._nodes = list(graph.nodes)
        owner: dict[object, fx.Node] = {}
        for node in self._nodes:
            for storage in _storages(node):
                self._join(node, owner.setdefault(storage, node))
            for base in _viewed(node):
                self._join(node, base)

    def of(self, node: fx.Node) -> fx.Node:
        """The class that a node's value lives in, named by one of its nodes."""
        root = node
        while (parent := self._parent.get(root, root)) is not root:
            root = parent
        while self._parent.get(node, node) is not root:
            self._parent[node], node = root, self._parent.get(node, node)
        return root

    def touching(self, node: fx.Node) -> list[fx.Node]:
        """Every node that produces or reads memory of the node's class, in execution order."""
        if self._touching is None:
            self._touching = {}
            for other in self._nodes:
                for root in {self.of(value): None for value in (other, *other.all_input_nodes)}:
                    self._touching.setdefault(root, []).append(other)
        return self._touching.get(self.of(node), [])

    def _join(self, first: fx.Node, second: fx.Node) -> None:
        self._parent[self.of(first)] = self.of(second)


def written(node: fx.Node) -> list[fx.Node]:
    """The arguments whose memory a call writes to: by its schema, or by the trailing underscore of a method."""
    if node.op == "call_method":
        return _nodes_in(node.args[:1]) if _is_inplace_name(str(node.target)) else []
    if node.op != "call_function":
        return []
    if node.target in _INPLACE_FUNCTIONS:
        return _nodes_in(node.args[:1])
    by_schema = _arguments_where(node, lambda argument: argument.alias_info is not None and argument.alias_info.is_write)
    # Functions have no schema, and inductor.resize_storage_bytes_ keeps its write out of it.
    return by_schema or (_nodes_in(node.args[:1]) if _is_inplace_name(operator_name(node.target)[1]) else [])


def _is_inplace_name(name: str) -> bool:
    """Torch's convention: ``add_`` writes to its first argument, ``__add__`` does not."""
    return name.endswith("_") and not name.endswith("__")


def _viewed(node: fx.Node) -> Iterator[fx.Node]:
    """The arguments that a node's result may be a view of."""
    if node.op == "get_attr" or node.op == "placeholder" or node.op == "output":
        return
    # A wait returns the very tensor that the launch filled, and its schema keeps that out.
    if is_getitem(node) or is_wait(node):
        yield from _nodes_in(node.args[:1])
        return
    schema = schema_of(node.target)
    if schema is None:
        if "val" not in node.meta:
            yield from node.all_input_nodes
        return
    if "val" not in node.meta and schema.name.rpartition("::")[2] in _MAY_ALIAS:
        yield from _nodes_in(node.args[:1])
    yield from _arguments_where(node, lambda argument: argument.alias_info is not None and _is_returned(argument, schema))


def _is_returned(argument: Any, schema: Any) -> bool:
    """Whether a result may be a view of the argument; ``a -> *`` means that it is in one of the returned lists."""
    sets = argument.alias_info.before_set | argument.alias_info.after_set
    return any(result.alias_info is not None and ("*" in sets or sets & result.alias_info.before_set) for result in schema.returns)


def _arguments_where(node: fx.Node, holds: Callable[[Any], bool]) -> list[fx.Node]:
    schema = schema_of(node.target)
    if schema is None:
        return []
    found: list[fx.Node] = []
    for index, argument in enumerate(schema.arguments):
        if holds(argument):
            value = node.kwargs.get(argument.name, node.args[index] if index < len(node.args) and not argument.kwarg_only else None)
            found += _nodes_in([value])
    return found


def _nodes_in(arguments: Iterable[object]) -> list[fx.Node]:
    found: list[fx.Node] = []
    map_arg(list(arguments), found.append)  # pyright: ignore[reportArgumentType]
    return found


def _storages(node: fx.Node) -> Iterator[object]:
    for tensor in tensors_of(node.meta.get("val")):
        try:
            yield StorageWeakRef(tensor.untyped_storage())
        except (NotImplementedError, RuntimeError):  # sparse and opaque layouts have no storage to share
            continue
