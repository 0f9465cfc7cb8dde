"""Whether all ranks communicate in the same order: asked before the first step, since a difference would hang it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch.distributed as dist
from torch import fx

from hyperviz.analysis import classify
from hyperviz.graph.groups import find_group
from hyperviz.graph.kinds import is_communication, is_wait, operator_name, schema_of
from hyperviz.graph.values import tensors_of


@dataclass(frozen=True, slots=True)
class Step:
    """One launch, wait or effect of a graph, as ranks tell each other.

    Attributes:
        what: the operator, its payload, and its plain arguments.
        ranks: that take part.
        node: its name in this rank's graph.
        module_path: that it belongs to.
    """

    what: str
    ranks: tuple[int, ...]
    node: str
    module_path: str = ""

    def __str__(self) -> str:
        return f"{self.node} ({self.what})" + (f" of {self.module_path}" if self.module_path else "")


def check_same_order(graph_module: fx.GraphModule) -> None:
    """Compare the order of communication with that of every other rank; every rank of the process group must call it.

    Compared are, for each two ranks, the launches that both take part in, with operator, group, dtype, shape and plain arguments, and
    the waits and frees of their results. Without a process group, or in a graph that does not communicate, nothing is done.

    Raises:
        ValueError: two ranks differ; on every rank, with the first node that differs on both.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return
    mine = list(steps_of(graph_module.graph))
    if not mine:
        return
    everyone: list[list[Step]] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(everyone, mine)
    for first, second in itertools.combinations(range(len(everyone)), 2):
        if difference := find_difference(first, everyone[first], second, everyone[second]):
            raise ValueError(f"all ranks must communicate in the same order, but {difference}")


def find_difference(first: int, first_steps: Sequence[Step], second: int, second_steps: Sequence[Step]) -> str:
    """Where two ranks part, in words; empty where they do not."""
    shared = [[step for step in first_steps if second in step.ranks], [step for step in second_steps if first in step.ranks]]
    for place, (one, other) in enumerate(itertools.zip_longest(*shared)):
        if one is None or other is None or (one.what, one.ranks) != (other.what, other.ranks):
            return f"at step {place} rank {first} has {one or 'nothing more'} and rank {second} has {other or 'nothing more'}"
    return ""


def steps_of(graph: fx.Graph) -> Iterator[Step]:
    """The launches, waits and frees of a graph, in order."""
    ranks: dict[fx.Node, tuple[int, ...]] = {}
    for node in graph.nodes:
        path = str(node.meta.get("module_path", ""))
        if is_communication(node) and not is_wait(node):
            ranks[node] = _ranks(node)
            yield Step(_describe(node), ranks[node], node.name, path)
        elif is_wait(node) or classify(node).role == "effect":
            launch = next((source for source in node.all_input_nodes if source in ranks), None)
            if launch is not None:
                ranks[node] = ranks[launch]
                yield Step(f"{operator_name(node.target)[1]} after {_describe(launch)}", ranks[node], node.name, path)


def _describe(node: fx.Node) -> str:
    payload = ", ".join(f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}" for value in tensors_of(node.meta.get("val")))
    plain = [argument for name, argument in _named(node) if name != "group_name" and isinstance(argument, (int, str, float))]
    return " ".join([operator_name(node.target)[1], payload, *map(str, plain)])


def _ranks(node: fx.Node) -> tuple[int, ...]:
    group = find_group(dict(_named(node)).get("group_name"))
    return tuple(range(dist.get_world_size())) if group is None else tuple(dist.get_process_group_ranks(group))


def _named(node: fx.Node) -> Iterator[tuple[str, object]]:
    schema = schema_of(node.target)
    names = [argument.name for argument in schema.arguments] if schema is not None else [str(index) for index in range(len(node.args))]
    yield from zip(names, node.args, strict=False)
    yield from node.kwargs.items()
