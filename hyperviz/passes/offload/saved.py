"""Which memory the backward reads again: saved values, their views and their readers, and why some must stay on the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

from hyperviz.analysis import classify, written
from hyperviz.graph.kinds import is_call, is_communication, is_random
from hyperviz.graph.values import tensors_of


@dataclass(frozen=True, slots=True)
class Saved:
    """Memory that the forward makes and the backward reads.

    Attributes:
        base: the node that makes it.
        family: the base and the forward nodes that are views of it, in execution order.
        forward: every forward node that is or reads one of them, in execution order.
        backward: every node behind the forward that reads one of them, likewise; the output too.
        num_bytes: of the memory; None where a size is symbolic.
    """

    base: fx.Node
    family: tuple[fx.Node, ...]
    forward: tuple[fx.Node, ...]
    backward: tuple[fx.Node, ...]
    num_bytes: int | None


def find_saved(graph: fx.Graph) -> list[Saved]:
    """The memory that nodes of the backward read from the forward, each once, however many views there are of it."""
    families: dict[int, list[fx.Node]] = {}
    for node in graph.nodes:
        if node.meta.get("phase") != "backward" and (storage := memory_of(node)) is not None:
            families.setdefault(storage, []).append(node)
    position = {node: index for index, node in enumerate(graph.nodes)}
    return [saved for family in families.values() if (saved := _saved(family, position)) is not None]


def why_it_stays(saved: Saved, on_device: bool) -> str:
    """Why memory cannot leave the device; empty where it can.

    Args:
        saved: the memory.
        on_device: whether the graph computes on an accelerator, so that what is on the host is there already.
    """
    base, value = saved.base, saved.base.meta["val"]
    if not is_call(base):
        return f"it is memory of {base.name}, which lives outside the step"
    if any("fsdp_unit" in node.meta for node in saved.family):
        return "it is a gathered parameter, which the sharding frees or keeps"
    if on_device and all(tensor.device.type == "cpu" for tensor in tensors_of(value)):
        return "it is on the host already"
    if not isinstance(value, torch.Tensor) or saved.num_bytes != value.numel() * value.element_size():
        return "its elements do not fill its memory"
    if any(node.op == "output" for node in saved.backward):
        return "the graph returns it"
    return next(_disturbances(saved), "")


def _disturbances(saved: Saved) -> Iterator[str]:
    family = set(saved.family)
    for node in saved.family[1:]:
        if not family.issuperset(node.all_input_nodes) or is_random(node):
            yield f"{node.name} shares its memory and cannot be made again from it alone"
    for node in (*saved.forward, *saved.backward):
        if is_communication(node):
            yield f"{node.name} communicates it"
        elif family.intersection(written(node)):
            yield f"{node.name} writes to it"
        elif is_call(node) and classify(node).role in ("effect", "eager"):
            yield f"{node.name}, which has an effect, reads it"


def _saved(family: list[fx.Node], position: Mapping[fx.Node, int]) -> Saved | None:
    touching = sorted({*family, *(user for node in family for user in node.users)}, key=position.__getitem__)
    backward = tuple(node for node in touching if _is_backward(node))
    if all(node.op == "output" for node in backward):
        return None
    forward = tuple(node for node in touching if not _is_backward(node))
    size = tensors_of(family[0].meta["val"])[0].untyped_storage().nbytes()
    return Saved(family[0], tuple(family), forward, backward, size if isinstance(size, int) else None)


def _is_backward(node: fx.Node) -> bool:
    return node.op == "output" or node.meta.get("phase") == "backward"


def memory_of(node: fx.Node) -> int | None:
    """What tells the memory of a node's value from others, for as long as the value lives, if all of it lies in one."""
    try:
        found = {StorageWeakRef(tensor.untyped_storage()).cdata for tensor in tensors_of(node.meta.get("val"))}
    except (NotImplementedError, RuntimeError):  # sparse and opaque layouts have no storage
        return None
    return found.pop() if len(found) == 1 else None
