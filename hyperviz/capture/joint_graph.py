"""The captured step: one graph of loss and gradients, and how to call it on a model and a batch."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn

from hyperviz.capture.borrow import ModelState
from hyperviz.capture.inputs import InputSpec
from hyperviz.capture.world import FakeWorld
from hyperviz.graph import calm


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointGraph:
    """One FX graph of a training step: forward, loss and backward.

    Attributes:
        graph_module: called positionally with one tensor per placeholder, the state first; returns ``[loss, *gradients]``.
        example_inputs: one fake tensor per placeholder; each is that placeholder's ``meta["val"]``.
        state_fqns: names of the parameters, then of the buffers, that the leading placeholders stand for.
        state_is_param: for each of them, whether it is a parameter.
        input_spec: how a dict of inputs becomes the remaining placeholders.
        output_names: ``"loss"``, then ``"grad of <fqn>"`` for each parameter.
        title: what a picture of it is called.
        notes: sentences that every picture of it must carry.
        world: the ranks that it was captured for, where these do not exist: then it refuses to run.
    """

    graph_module: fx.GraphModule
    example_inputs: tuple[torch.Tensor, ...]
    state_fqns: tuple[str, ...]
    state_is_param: tuple[bool, ...]
    input_spec: InputSpec
    output_names: tuple[str, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    world: FakeWorld | None = None

    def __repr__(self) -> str:
        nodes, gradients = len(self.graph_module.graph.nodes), len(self.output_names) - 1
        world = f"; {self.world.note}" if self.world else ""
        return f"JointGraph of {self.title}: {nodes} nodes, loss and {gradients} gradients{world}"

    @property
    def num_state_inputs(self) -> int:
        """How many of the leading placeholders are parameters and buffers."""
        return len(self.state_fqns)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that the placeholders after the state stand for, as in ``"tokens"`` or ``"batch.ids"``."""
        return self.input_spec.tensor_names

    @property
    def refusal(self) -> str:
        """Why the graph may be looked at but not run: a fake world, or what a pass wrote into its meta; empty where it may."""
        return self.world.refusal if self.world is not None else self.graph_module.meta.get("refusal", "")

    def flat_inputs(self, model: nn.Module, inputs: Mapping[str, Any]) -> list[torch.Tensor]:
        """The real tensors for the placeholders, in order: the model's own parameters and buffers, then the tensors in ``inputs``.

        Args:
            model: the captured model, or one of the same state.
            inputs: nested like the captured inputs, with tensors of the same shapes and dtypes, and the same constants.

        Raises:
            ValueError: a name, a shape, a dtype, a device or a constant differs from what was captured.
        """
        state = ModelState.of(model)
        if state.fqns != self.state_fqns:
            raise ValueError(_state_message(self.state_fqns, state.fqns))
        flat = [*state.tensors, *self.input_spec.flatten(inputs)]
        for name, wanted, came in zip((*self.state_fqns, *self.input_names), self.example_inputs, flat, strict=True):
            _check_like(name, wanted, came)
        return flat

    def run(self, *flat: torch.Tensor) -> list[torch.Tensor | None]:
        """Runs the traced graph itself, operator by operator, without autograd and autocast.

        Args:
            *flat: one tensor per placeholder, as ``flat_inputs`` returns them; a buffer that the step updates is updated in place.

        Returns:
            The loss, then one gradient per parameter, None for a frozen or unused one.

        Raises:
            ValueError: another number of tensors than placeholders, or a graph that is not to be run (``refusal``).
        """
        if self.refusal:
            raise ValueError(self.refusal)
        if len(flat) != len(self.example_inputs):
            raise ValueError(f"run must be given {len(self.example_inputs)} tensors, as flat_inputs returns them, got {len(flat)}")
        with calm():
            return list(self.graph_module(*flat))


def _state_message(wanted: tuple[str, ...], came: tuple[str, ...]) -> str:
    lost = next((fqn for fqn in wanted if fqn not in came), None)
    if lost is None:
        extra = next((f", got {fqn!r} too" for fqn in came if fqn not in wanted), "")
        return f"model must have the captured parameters and buffers, in the captured order{extra}"
    near = difflib.get_close_matches(lost, came, n=1)
    return f"model must have the captured parameters and buffers, but {lost!r} is missing" + (f"; it has {near[0]!r}" if near else "")


def _check_like(name: str, wanted: torch.Tensor, came: torch.Tensor) -> None:
    if came.shape != wanted.shape or came.dtype != wanted.dtype or came.device.type != wanted.device.type:
        raise ValueError(f"{name} must be {_described(wanted)}, as captured, got {_described(came)}")


def _described(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} on {tensor.device.type}"
