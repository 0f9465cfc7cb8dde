"""Collectives: which launch belongs to which wait, over which group, and how much it carries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import fx
from torch.fx.node import map_arg

from hyperviz.graph.groups import find_group, group_name
from hyperviz.graph.kinds import attribute, is_communication, is_getitem, is_view, is_wait, is_work, operator_name, schema_of
from hyperviz.graph.values import hinted_bytes
from hyperviz.snapshot import Collective

# By a part of the operator's name, underscores left out; the first that fits.
_KINDS = {
    "reducescatter": "reduce_scatter",
    "allgather": "all_gather",
    "allreduce": "all_reduce",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "batchp2p": "send_recv",
    "send": "send",
    "recv": "recv",
    "barrier": "barrier",
    "gather": "gather",
    "scatter": "scatter",
    "reduce": "reduce",
}
_OUTPUTS = ("out", "output", "output_tensor", "output_tensors", "output_lists", "outputs")
_INPUTS = ("input", "input_tensor", "input_tensors", "input_list", "inputs", "local_input", "tensor", "tensors")


def kind_of(node: fx.Node) -> str:
    """What kind of collective the node launches, a word of ``Collective.kind``; empty where it launches none."""
    if not is_communication(node) or is_wait(node):
        return ""
    name = operator_name(node.target)[1].replace("_", "")
    return next((kind for part, kind in _KINDS.items() if part in name), "")


def launch_of(wait: fx.Node) -> fx.Node | None:
    """The launch whose result a wait waits for; None where the graph holds none.

    The value is followed back through views, results taken out of several, and earlier waits, to a launch, or to memory that one
    writes into: then it is the last launch before the wait that does.
    """
    node: object = wait.args[0] if wait.args else wait.kwargs.get("tensor")
    while isinstance(node, fx.Node):
        if kind_of(node):
            return node
        if writers := [user for user in node.users if kind_of(user) and user < wait and node in _written(user)]:
            return max(writers)
        if not (is_view(node) or is_getitem(node) or is_wait(node)):
            return None
        node = node.args[0]
    return None


def find_collectives(graph: fx.Graph, group_sizes: Mapping[str, int] | None = None) -> tuple[Collective, ...]:
    """Every collective of a graph, in the order of launches. Reads only.

    Args:
        graph: with or without fake values; without, payloads are None.
        group_sizes: name → number of ranks of groups that may not be up; asked where the graph does not say, before torch is.
    """
    order = {node: index for index, node in enumerate(graph.nodes)}
    launches = [node for node in order if kind_of(node)]
    waits: dict[fx.Node, list[fx.Node]] = {launch: [] for launch in launches}
    for node in order:
        if is_wait(node) and (launch := launch_of(node)) is not None:
            waits[launch].append(node)
    for launch, found in waits.items():
        if not found and _is_blocking(launch):
            found.append(launch)
    sizes = {**_stated_sizes(launches), **(group_sizes or {})}
    work = {index: node.name for node, index in order.items() if is_work(node)}
    places, names = list(work), list(work.values())

    def inside(launch: fx.Node) -> tuple[str, ...]:
        end = order[waits[launch][0]] if waits[launch] else len(order)
        return tuple(names[bisect_right(places, order[launch]) : bisect_left(places, end)])

    return tuple(_describe(launch, waits[launch], inside(launch), sizes) for launch in launches)


def _describe(launch: fx.Node, waits: list[fx.Node], inside: tuple[str, ...], sizes: Mapping[str, int]) -> Collective:
    group = group_of(launch)
    return Collective(
        launch=launch.name,
        waits=tuple(wait.name for wait in waits),
        kind=kind_of(launch),
        group=group,
        num_ranks=_num_ranks(launch, group, sizes),
        payload_bytes=_payload(launch),
        bucket=str(launch.meta.get("bucket") or ""),
        compute_inside=inside,
    )


def _is_blocking(launch: fx.Node) -> bool:
    """Whether the operator is complete when it returns, as those of symmetric memory that run on the stream of compute."""
    namespace, name = operator_name(launch.target)
    return namespace in ("symm_mem", "_dtensor") and "low_contention" not in name


def _stated_sizes(launches: Iterable[fx.Node]) -> dict[str, int]:
    return {group_of(launch): size for launch in launches if (size := _stated_size(launch)) is not None}


def _stated_size(launch: fx.Node) -> int | None:
    """The number of ranks, where it stands among the launch's arguments."""
    arguments = dict(named_arguments(launch))
    size = arguments.get("group_size")
    if size is None and (splits := arguments.get("output_split_sizes")):
        size = len(splits)
    return size if isinstance(size, int) else None


def _num_ranks(launch: fx.Node, group: str, sizes: Mapping[str, int]) -> int | None:
    if (stated := _stated_size(launch)) is not None:
        return stated
    if group in sizes:
        return sizes[group]
    known = find_group(group)
    return None if known is None else known.size()


def group_of(launch: fx.Node) -> str:
    """Name of the process group that a launch communicates over; empty where the graph does not say."""
    arguments = dict(named_arguments(launch))
    value = arguments.get("group_name", arguments.get("process_group"))
    if isinstance(value, fx.Node):
        root = value.graph.owning_module
        value = attribute(root, str(value.target)) if value.op == "get_attr" and root is not None else None
    return group_name(value)


def _payload(launch: fx.Node) -> int | None:
    kind, arguments = kind_of(launch), dict(named_arguments(launch))
    if kind == "barrier":
        return 0
    if "matmul" in operator_name(launch.target)[1]:  # fused: its arguments and results are the matmul's
        return None
    if kind in ("all_gather", "gather"):
        outputs = _nodes_in(arguments[name] for name in _OUTPUTS if name in arguments)
        return _bytes_of(outputs) if outputs else _bytes_of([launch])
    inputs = _nodes_in(arguments[name] for name in _INPUTS if name in arguments)
    return _bytes_of(inputs) if inputs else None


def _bytes_of(nodes: Iterable[fx.Node]) -> int | None:
    total = 0
    for node in nodes:
        size = hinted_bytes(node.meta["val"]) if node.meta.get("val") is not None else None
        if size is None:
            return None
        total += size
    return total


def _written(launch: fx.Node) -> list[fx.Node]:
    """The arguments that a launch writes its result into."""
    schema = schema_of(launch.target)
    if schema is None:
        return []
    writes = {argument.name for argument in schema.arguments if argument.alias_info is not None and argument.alias_info.is_write}
    # c10d's own operators write to what they are given without saying so.
    c10d = operator_name(launch.target)[0] == "c10d"
    return _nodes_in(value for name, value in named_arguments(launch) if name in writes or (c10d and name in (*_OUTPUTS, "tensors")))


def named_arguments(node: fx.Node) -> Iterator[tuple[str, Any]]:
    """The arguments of an operator's call under the names that its schema gives them."""
    schema = schema_of(node.target)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    yield from zip(names, node.args, strict=False)
    yield from node.kwargs.items()


def _nodes_in(values: Iterable[object]) -> list[fx.Node]:
    found: list[fx.Node] = []
    map_arg(list(values), found.append)  # pyright: ignore[reportArgumentType]
    return found
