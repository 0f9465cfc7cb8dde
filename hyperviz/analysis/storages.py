"""Which storages the values of nodes live in, and how large these are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

from hyperviz.graph.kinds import is_getitem, is_object_attribute, is_wait, operator_name, returns_nothing, schema_of
from hyperviz.graph.transfers import is_transfer_wait, transfer_kind
from hyperviz.graph.values import hinted, tensors_of

_MAY_COPY = frozenset({"reshape", "contiguous", "to", "flatten", "type_as", "expand_as", "view_as", "reshape_as", "_reshape_alias"})


class Storages:
    """The storages that values of nodes live in, numbered in the order in which they first appear.

    Two values share one if their fake values do, or if the operator's schema says that its result is a view of an argument, which a
    value that was moved to another fake mode no longer shows. A value that is not known has a storage of unknown size.
    """

    def __init__(self, nodes: Iterable[fx.Node]) -> None:
        self._parent: list[int] = []
        self._bytes: list[int | None] = []
        self._of: dict[fx.Node, tuple[int, ...]] = {}
        known: dict[object, int] = {}
        for node in nodes:
            self._of[node] = tuple(self._numbers(node, known))
            for number, base in self._aliases(node):
                self._join(number, base)
        self._distinct = {node: tuple(dict.fromkeys(map(self._root, numbers))) for node, numbers in self._of.items()}

    def of(self, node: fx.Node) -> tuple[int, ...]:
        """The storages of a node's tensors, each once."""
        return self._distinct.get(node, ())

    def num_bytes(self, storage: int) -> int | None:
        """Its size; a symbolic one by its hint, None without."""
        return self._bytes[storage]

    def _numbers(self, node: fx.Node, known: dict[object, int]) -> Iterator[int]:
        value = node.meta.get("val")
        if transfer_kind(node) == "offload":
            yield self._add(0)
            return
        if value is None:
            if _returns_something(node):
                yield self._add(None)
            return
        for tensor in tensors_of(value):
            try:
                storage = tensor.untyped_storage()
                key, size = StorageWeakRef(storage), hinted(storage.nbytes())
            except (NotImplementedError, RuntimeError):  # sparse and opaque layouts have none
                yield self._add(None)
                continue
            if key not in known:
                known[key] = self._add(size)
            yield known[key]

    def _add(self, size: int | None) -> int:
        self._parent.append(len(self._parent))
        self._bytes.append(size)
        return len(self._parent) - 1

    def _aliases(self, node: fx.Node) -> Iterator[tuple[int, int]]:
        """Pairs of a storage of the node's and one of an argument's that are the same memory."""
        if is_wait(node) or is_transfer_wait(node) or (is_getitem(node) and node.meta.get("val") is None):
            base = node.args[0] if node.args else None
            if isinstance(base, fx.Node):
                yield from zip(self._of[node], self._of.get(base, ()), strict=False)
            return
        for result, argument in _views(node.target) if node.op == "call_function" else ():
            base = node.kwargs.get(argument[1], node.args[argument[0]] if argument[0] < len(node.args) else None)
            if isinstance(base, fx.Node) and (first := self._of.get(base, ())):
                numbers = self._of[node]
                yield from ((number, first[0]) for number in (numbers if result is None else numbers[result : result + 1]))

    def _join(self, one: int, other: int) -> None:
        first, second = sorted((self._root(one), self._root(other)))
        self._parent[second] = first

    def _root(self, number: int) -> int:
        while (parent := self._parent[number]) != number:
            self._parent[number] = number = self._parent[parent]
        return number


def _returns_something(node: fx.Node) -> bool:
    return node.op != "output" and not returns_nothing(node) and not is_object_attribute(node)


@lru_cache(maxsize=4096)
def _views(target: object) -> tuple[tuple[int | None, tuple[int, str]], ...]:
    """Which results are views of which arguments, by the operator's schema: (index of the result, None for all; place and name)."""
    schema = schema_of(target)
    if schema is None or operator_name(target)[1] in _MAY_COPY:
        return ()
    return tuple(
        (None if len(schema.returns) == 1 else index, (place, argument.name))
        for index, result in enumerate(schema.returns)
        for place, argument in enumerate(schema.arguments)
        if result.alias_info is not None and argument.alias_info is not None
        if result.alias_info.before_set & (argument.alias_info.before_set | argument.alias_info.after_set)
    )
