"""A graph as plain data: its nodes in execution order, what they read, and where they came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hyperviz.snapshot.schedule import Collective

PHASES = ("forward", "backward")


def not_run(num_ranks: int) -> str:
    """What is said of everything that was captured for ranks that do not exist."""
    return f"fake world of {num_ranks:,} rank{'' if num_ranks == 1 else 's'}: not run"


@dataclass(frozen=True, slots=True)
class TensorSnapshot:
    """One tensor that a node produces.

    Attributes:
        shape: sizes; a symbolic size is its expression as text.
        dtype: torch's name without the prefix, as in ``"float32"``.
        stride: strides in elements, like ``shape``; empty where the layout has none.
        device: as in ``"cpu"`` or ``"cuda:0"``.
        num_bytes: elements times element size, or None where a size is symbolic.
    """

    shape: tuple[int | str, ...]
    dtype: str
    stride: tuple[int | str, ...] = ()
    device: str = "cpu"
    num_bytes: int | None = None

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The line of the user's program that a node came from.

    Attributes:
        file: path as Python reported it.
        line: 1-based.
        code: the line's text, stripped; empty where the file could not be read.
        function: the function that holds the line.
    """

    file: str
    line: int
    code: str = ""
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """One node of an FX graph.

    Attributes:
        name: unique in its graph.
        op: FX's word: placeholder, get_attr, call_function, call_method, call_module, output.
        target: the operator as text, as in ``"aten.mm.default"``; for a placeholder, the name of the state or input it stands for.
        inputs: names of the nodes it reads, each once, in argument order.
        phase: ``"forward"``, ``"backward"``, or ``""`` where a graph has no phases.
        tensors: the tensors it produces, in order; empty for a node without a tensor value.
        module_path: fully qualified name of the module it belongs to, ``""`` for none or the root.
        source: the user's line, or None where it is not known.
        twin: for a backward node, the forward node whose gradient it is part of; ``""`` for none.
        kind: for a placeholder ``"parameter"``, ``"buffer"`` or ``"input"``; otherwise ``""``.
    """

    name: str
    op: str
    target: str
    inputs: tuple[str, ...] = ()
    phase: str = ""
    tensors: tuple[TensorSnapshot, ...] = ()
    module_path: str = ""
    source: SourceLine | None = None
    twin: str = ""
    kind: str = ""

    @property
    def num_bytes(self) -> int | None:
        """Bytes of all tensors that the node produces, None if one is not known."""
        sizes = [tensor.num_bytes for tensor in self.tensors]
        return None if None in sizes else sum(size for size in sizes if size is not None)


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """An FX graph as plain data.

    Attributes:
        nodes: in execution order.
        title: what a picture of it is called.
        notes: sentences that every picture of it must carry.
        versions: name → version of what made it, as in ``{"torch": "2.13.0"}``.
        collectives: its communication, in the order of launches.
        fake_world: how many ranks the world has that it was captured for, where those ranks do not exist; None for a graph that can run.
    """

    nodes: tuple[NodeSnapshot, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    collectives: tuple[Collective, ...] = ()
    fake_world: int | None = None

    @property
    def caveat(self) -> str:
        """What every picture of it says first: that it was not run; empty for a graph that can run."""
        return "" if self.fake_world is None else not_run(self.fake_world)

    def __len__(self) -> int:
        return len(self.nodes)

    def by_name(self) -> dict[str, NodeSnapshot]:
        """The nodes under their names, in execution order."""
        return {node.name: node for node in self.nodes}

    def edges(self) -> Iterator[tuple[NodeSnapshot, NodeSnapshot]]:
        """Every (producer, consumer), in the consumers' order."""
        nodes = self.by_name()
        for node in self.nodes:
            for name in node.inputs:
                yield nodes[name], node

    def saved_values(self) -> list[tuple[NodeSnapshot, NodeSnapshot]]:
        """The edges on which a value of the forward, not a placeholder, is read by the backward."""
        return [
            (producer, consumer)
            for producer, consumer in self.edges()
            if producer.phase == "forward" and consumer.phase == "backward" and producer.op not in ("placeholder", "get_attr")
        ]
