"""Adding calls to a graph so that every new node carries what the others do: a fake value, a phase, a module, a twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.node import map_arg

from hyperviz.graph import own_custom
from hyperviz.graph.kinds import operator_name


@dataclass(frozen=True, slots=True)
class Editor:
    """Adds calls where the graph's insertion point is.

    Attributes:
        graph: that is edited.
        mode: the fake mode that the graph's values live on.
    """

    graph: fx.Graph
    mode: FakeTensorMode

    def call(self, target: Callable[..., Any], *args: Any, meta: dict[str, Any], value: Any = None, **kwargs: Any) -> fx.Node:
        """A new call.

        Args:
            target: the operator.
            *args: its arguments.
            meta: what else the node carries; copied.
            value: its fake value; by default the operator is run on the fake values of the arguments.
            **kwargs: its keyword arguments.
        """
        node = self.graph.create_node("call_function", target, args, kwargs, name=operator_name(target)[1])
        node.meta.update(meta)
        node.meta["val"] = self.value(node) if value is None else value
        return node

    def copy(self, node: fx.Node, replaced: Callable[[fx.Node], fx.Node], meta: dict[str, Any]) -> fx.Node:
        """A copy of a node that reads other nodes in place of its inputs."""
        twin = self.graph.node_copy(node, replaced)
        own_custom(twin)
        twin.meta.update(meta)
        twin.meta["val"] = self.value(twin)
        return twin

    def value(self, node: fx.Node) -> Any:
        """What a call returns on the fake values of its arguments."""
        args, kwargs = map_arg((node.args, node.kwargs), lambda argument: argument.meta["val"])
        assert callable(node.target)
        with torch.no_grad(), self.mode:
            return node.target(*args, **kwargs)

    def empty(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        """A fake tensor with memory of its own."""
        with self.mode:
            return torch.empty(shape, dtype=like.dtype, device=like.device)

    def alias(self, value: torch.Tensor) -> torch.Tensor:
        """Another fake tensor on the same memory."""
        with torch.no_grad(), self.mode:
            return value.view(value.shape)
