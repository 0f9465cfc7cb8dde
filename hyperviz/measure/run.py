"""One run of one side of a comparison, with everything under control that could make two runs differ by accident."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from hyperviz.graph import calm
from hyperviz.measure.bits import as_real, differ
from hyperviz.measure.inputs import clone_inputs

Side = Callable[..., Any]
Prepare = Callable[[Sequence[object]], None]
_WIDEST = {float: torch.float64, complex: torch.complex128}


@dataclass(frozen=True, slots=True)
class Value:
    """What one output, or one input after the run, was.

    Attributes:
        facts: what it is apart from its numbers: name of a property → its text, in the order in which they are reported.
        data: its numbers as one dimension of reals, integers or bools, a copy of its own; None where there are none to read.
        plain: the value itself where it is no tensor.
    """

    facts: dict[str, str]
    data: torch.Tensor | None = None
    plain: object = None

    def __str__(self) -> str:
        return ", ".join(self.facts.values())


@dataclass(frozen=True, slots=True)
class Run:
    """What a side returned and what it left in its inputs.

    Attributes:
        names: of the outputs, made from where each stands in what was returned.
        outputs: one per leaf of what was returned, in order.
        structure: how the outputs nest.
        inputs: one per input; None for one that is no tensor or was not written to.
        given: the inputs that the run's own were copied from.
        container: the type of what was returned.
    """

    names: tuple[str, ...]
    outputs: tuple[Value, ...]
    structure: Any
    inputs: tuple[Value | None, ...]
    given: Sequence[object]
    container: str

    def value(self, position: int) -> Value:
        """An output, or behind the outputs an input as it is after the run: positions that every run of a side shares."""
        if position < len(self.outputs):
            return self.outputs[position]
        i = position - len(self.outputs)
        return self.inputs[i] or value_of(self.given[i])


def run_side(side: Side, flat: Sequence[object], seed: int, mode: Any = None, prepare: Prepare | None = None) -> Run:
    """Calls ``side(*copies)`` under ``no_grad``, autocast off, with torch seeded; the inputs given are never written to.

    Args:
        side: takes the flat inputs, returns any nesting of tensors.
        flat: the inputs; every run gets copies of its own (``clone_inputs``).
        seed: for torch's generators on every device.
        mode: a dispatch mode to run it in.
        prepare: is given the copies before the side sees them.
    """
    copies = clone_inputs(flat)
    torch.manual_seed(seed)
    with calm():
        if prepare is not None:
            prepare(copies)
        with mode or contextlib.nullcontext():
            returned = side(*copies)
    leaves, structure = pytree.tree_flatten_with_path(returned)
    leaves = [] if returned is None else leaves
    return Run(
        names=tuple(f"output{pytree.keystr(path)}" for path, _ in leaves),
        outputs=tuple(value_of(leaf) for _, leaf in leaves),
        structure=structure,
        inputs=tuple(value_of(copy) if _written(before, copy) else None for before, copy in zip(flat, copies, strict=True)),
        given=flat,
        container=type(returned).__name__,
    )


@contextlib.contextmanager
def kept_random_state() -> Iterator[None]:
    """Gives the caller's random numbers back afterwards, on the CPU and on every CUDA device."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_available() else ()):
        yield


def _written(before: object, after: object) -> bool:
    """Whether a run changed the input's bits, its shape, or gave its memory away."""
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    if before.shape != after.shape or _is_freed(after):
        return True
    return bool(differ(as_real(before), as_real(after), "bits", "bits").any())


def _is_freed(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0


def value_of(leaf: object) -> Value:
    """Takes down what a value is now: later writes to it do not show."""
    if not isinstance(leaf, torch.Tensor):
        dtype = _WIDEST.get(type(leaf))
        number = None if dtype is None else as_real(torch.tensor([leaf], dtype=dtype))
        return Value({"type": type(leaf).__name__}, data=number, plain=leaf)
    facts = {
        "type": type(leaf).__name__,
        "dtype": str(leaf.dtype).removeprefix("torch."),
        "shape": str(tuple(leaf.shape)),
        "stride": f"stride {_stride(leaf)}",
        "device": str(leaf.device),
    }
    if _is_freed(leaf):
        return Value({**facts, "memory": "freed"})
    return Value(facts, data=as_real(leaf if leaf.layout == torch.strided else leaf.to_dense()).clone())


def _stride(leaf: torch.Tensor) -> str:
    """Strides as far as they matter: a dimension of one element is never stepped along, and nothing lies in an empty tensor."""
    if leaf.layout != torch.strided:
        return str(leaf.layout).removeprefix("torch.")
    if not leaf.numel():
        return "()"
    return str(tuple(stride if size > 1 else 1 for size, stride in zip(leaf.shape, leaf.stride(), strict=True)))
