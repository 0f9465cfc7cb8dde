"""An FX graph as plain data: the snapshot that pictures, plans and exports are made from."""

from __future__ import annotations

import operator
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import fx

from hyperviz.graph.collectives import find_collectives
from hyperviz.graph.provenance import module_path
from hyperviz.graph.sources import user_line
from hyperviz.snapshot import GraphSnapshot, NodeSnapshot, SourceLine, TensorSnapshot


def take_snapshot(
    graph_module: fx.GraphModule,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    state_fqns: Sequence[str] = (),
    state_is_param: Sequence[bool] = (),
    input_names: Sequence[str] = (),
    group_sizes: Mapping[str, int] | None = None,
) -> GraphSnapshot:
    """Describes any FX graph; a fact that its nodes do not carry stays empty.

    Args:
        graph_module: the graph; it is only read.
        title: what a picture of it is called.
        notes: sentences that every picture of it must carry.
        state_fqns: names of the parameters and buffers that the leading placeholders stand for.
        state_is_param: for each of them, whether it is a parameter; buffers where left out.
        input_names: names of the inputs that the remaining placeholders stand for.
        group_sizes: name → number of ranks of process groups that may not be up.

    Returns:
        One ``NodeSnapshot`` per node, in execution order.
    """
    fake = graph_module.meta.get("fake_world")  # stands with the graph itself, so that no way to a picture loses it
    names = [*state_fqns, *input_names]
    kinds = ["parameter" if is_param else "buffer" for is_param in state_is_param]
    kinds += ["buffer"] * (len(state_fqns) - len(kinds))
    nodes: list[NodeSnapshot] = []
    present = {node.name for node in graph_module.graph.nodes}
    num_placeholders = 0
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            name = names[num_placeholders] if num_placeholders < len(names) else str(node.target)
            kind = kinds[num_placeholders] if num_placeholders < len(kinds) else "input"
            num_placeholders += 1
            nodes.append(_describe(node, _value(node, graph_module), present, name, kind))
        else:
            nodes.append(_describe(node, _value(node, graph_module), present, target_name(node)))
    return GraphSnapshot(tuple(nodes), title, tuple(notes), dict(versions()), find_collectives(graph_module.graph, group_sizes), fake)


def _describe(node: fx.Node, value: object, present: set[str], target: str, kind: str = "") -> NodeSnapshot:
    meta = node.meta
    twin = meta.get("twin", "")
    return NodeSnapshot(
        name=node.name,
        op=node.op,
        target=target,
        inputs=tuple(other.name for other in node.all_input_nodes),
        phase=meta.get("phase", ""),
        tensors=tuple(describe_tensor(tensor) for tensor in _tensors(value)),
        module_path=meta["module_path"] if "module_path" in meta else module_path(node),
        source=source_of(node),
        twin=twin if twin in present else "",  # a pass may have removed it
        kind=kind,
    )


def source_of(node: fx.Node) -> SourceLine | None:
    """The user's line that a node came from, by ``hyperviz.graph.sources.user_line``; None where it is not known."""
    return user_line(node.stack_trace) if node.stack_trace else None


def target_name(node: fx.Node) -> str:
    """A node's target as text: ``"aten.mm.default"``, ``"operator.getitem"``, ``"cond"``; attribute and module targets as they are."""
    return node.target if isinstance(node.target, str) else _callable_name(node.target)


@lru_cache(maxsize=4096)
def _callable_name(target: Callable[..., Any]) -> str:
    if isinstance(target, torch._ops.OperatorBase):
        return str(target)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or type(target).__qualname__
    module = getattr(target, "__module__", None) or ""
    if getattr(operator, name, None) is target:
        module = "operator"
    return f"{module}.{name}" if module and module != "builtins" else name


def describe_tensor(tensor: Any) -> TensorSnapshot:
    """Describes a tensor, fake or real, or the ``TensorMetadata`` that ``ShapeProp`` leaves."""
    is_tensor = isinstance(tensor, torch.Tensor)
    shape = tuple(_size(size) for size in tensor.shape)
    has_strides = not is_tensor or tensor.layout == torch.strided
    stride = (tensor.stride() if is_tensor else tensor.stride) if has_strides else ()
    return TensorSnapshot(
        shape=shape,
        dtype=str(tensor.dtype).removeprefix("torch."),
        stride=tuple(_size(size) for size in stride),
        device=str(tensor.device) if is_tensor else "",
        num_bytes=_num_bytes(shape, tensor.dtype) if has_strides else None,  # a sparse tensor's size depends on its values
    )


def _size(size: Any) -> int | str:
    return size if type(size) is int else str(size)


def _num_bytes(shape: tuple[int | str, ...], dtype: torch.dtype) -> int | None:
    total = dtype.itemsize
    for size in shape:
        if not isinstance(size, int):
            return None
        total *= size
    return total


def _value(node: fx.Node, graph_module: fx.GraphModule) -> object:
    """What the node produces, as far as any tracer or pass recorded it."""
    for key in ("val", "example_value", "tensor_meta"):
        if node.meta.get(key) is not None:
            return node.meta[key]
    if node.op != "get_attr":
        return None
    try:
        return operator.attrgetter(str(node.target))(graph_module)
    except AttributeError:
        return None


def _tensors(value: object) -> list[Any]:
    if isinstance(value, torch.Tensor) or (hasattr(value, "dtype") and hasattr(value, "shape")):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


@lru_cache(maxsize=1)
def versions() -> tuple[tuple[str, str], ...]:
    """(name, version) of what makes a graph on this machine: this library, torch and Python."""
    try:
        ours = version("hyperviz")
    except PackageNotFoundError:
        ours = "unknown"
    return ("hyperviz", ours), ("torch", str(torch.__version__)), ("python", platform.python_version())
