"""A batch as a flat list: which leaves of the inputs become placeholders, and which are fixed in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree


@dataclass(frozen=True, slots=True)
class InputSpec:
    """How a dict of inputs is taken apart and put together again.

    A tensor leaf becomes a placeholder. Any other leaf (None, bool, int, float, str, dtype, …) is a constant: the program was captured for
    that value and holds for no other.

    Attributes:
        names: what each leaf is called, as in ``"tokens"`` or ``"batch.ids"`` or ``"pair.0"``.
        constants: leaf position → its value, for each leaf that is not a tensor.
        structure: the nesting.
    """

    names: tuple[str, ...]
    constants: Mapping[int, Any]
    structure: pytree.TreeSpec = field(repr=False)

    @staticmethod
    def of(inputs: Mapping[str, Any]) -> InputSpec:
        """Reads the structure of ``inputs``.

        Raises:
            ValueError: ``inputs`` is not a dict with str keys, or a leaf is neither a tensor nor hashable.
        """
        leaves, structure = pytree.tree_flatten_with_path(_as_dict(inputs))
        names = tuple(".".join(_step_name(step) for step in path) for path, _ in leaves)
        constants = {i: leaf for i, (_, leaf) in enumerate(leaves) if not isinstance(leaf, torch.Tensor)}
        for position, leaf in constants.items():
            _check_constant(names[position], leaf)
        return InputSpec(names, constants, structure)

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """Names of the leaves that become placeholders, in order."""
        return tuple(name for i, name in enumerate(self.names) if i not in self.constants)

    def flatten(self, inputs: Mapping[str, Any]) -> list[torch.Tensor]:
        """The tensor leaves of inputs that are like the captured ones.

        Raises:
            ValueError: another nesting, or another value where the captured program fixed one.
        """
        leaves, structure = pytree.tree_flatten(_as_dict(inputs))
        if structure != self.structure:
            came = InputSpec.of(inputs).names
            raise ValueError(f"inputs must be nested like those that were captured, {_listed(self.names)}; got {_listed(came)}")
        for position, value in self.constants.items():
            name, came = self.names[position], leaves[position]
            if came is not value and (type(came) is not type(value) or came != value):
                raise ValueError(f"inputs[{name!r}] must be {value!r}, as when the step was captured, got {came!r}: trace it again")
        return [leaf for i, leaf in enumerate(leaves) if i not in self.constants]

    def unflatten(self, tensors: Sequence[torch.Tensor]) -> dict[str, Any]:
        """The dict that ``flatten`` took apart, with ``tensors`` in it."""
        remaining = iter(tensors)
        leaves = [self.constants[i] if i in self.constants else next(remaining) for i in range(len(self.names))]
        return pytree.tree_unflatten(leaves, self.structure)


def _as_dict(inputs: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        raise ValueError(f"inputs must be a dict of what train_fn takes by name, got {type(inputs).__name__}")
    for key in inputs:
        if not isinstance(key, str):
            raise ValueError(f"inputs must have str keys, the names of train_fn's arguments, got the key {key!r}")
    return dict(inputs)


def _check_constant(name: str, leaf: Any) -> None:
    try:
        hash(leaf)
    except TypeError:
        hint = {"ndarray": "; torch.as_tensor makes a tensor of it", "set": "; a tuple or a dict would do"}.get(type(leaf).__name__, "")
        raise ValueError(
            f"inputs[{name!r}] must be a tensor, a hashable constant, or a dict, list or tuple of these, got {type(leaf).__name__}{hint}"
        ) from None


def _step_name(step: Any) -> str:
    """One step of a path into nested data: the key, index or field name."""
    for attribute in ("key", "idx", "name"):
        if hasattr(step, attribute):
            return str(getattr(step, attribute))
    return str(step)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
