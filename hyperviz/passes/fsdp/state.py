"""The live model and its checkpoints: whole parameters become shards in place, and state dicts go both ways."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed._functional_collectives  # registers the collectives
from torch import nn

from hyperviz.passes.fsdp.group import resolve
from hyperviz.passes.fsdp.layout import ShardLayout
from hyperviz.passes.fsdp.plan import ShardPlan, shard_plan_of

c10d = torch.ops._c10d_functional


def shard_model(model: nn.Module, plan: ShardPlan) -> None:
    """Let the parameters of a model be this rank's shards, in place: they stay the same objects, so an optimizer keeps them.

    As with torch's ``fully_shard``, every rank starts from the same whole parameters, and the optimizer takes its first step
    afterwards. Rows of padding hold zeros and get gradients of zero.

    Args:
        model: whole; a gradient that a parameter has is cut alike.
        plan: of the sharded graph.

    Raises:
        ValueError: a parameter is missing or has another shape; the model is left as it was.
    """
    parameters = dict(model.named_parameters())
    for fqn, layout in plan.layouts.items():
        if fqn not in parameters:
            raise ValueError(f"model must have the sharded parameter {fqn!r}{_near(fqn, parameters)}")
        if tuple(parameters[fqn].shape) != layout.shape:
            came = tuple(parameters[fqn].shape)
            hint = ": it is sharded already" if came == layout.shard_shape else ""
            raise ValueError(f"parameter {fqn!r} must be whole, of shape {layout.shape}, got {came}{hint}")
    with torch.no_grad():
        for fqn, layout in plan.layouts.items():
            parameter, gradient = parameters[fqn], parameters[fqn].grad
            parameter.grad = None
            parameter.data = layout.shard(parameter, plan.group.rank)
            parameter.grad = None if gradient is None else layout.shard(gradient, plan.group.rank)


def full_state_dict(model: nn.Module, sharded: object) -> dict[str, Any]:
    """The state dict of the whole model, as ``model.state_dict()`` would give it had it not been sharded; every rank must call it.

    Args:
        model: whose parameters are shards.
        sharded: the joint graph that ``hv.apply_passes`` returned, or its graph module.

    Returns:
        On every rank all of it, in copies. Buffers are this rank's own.

    Raises:
        ValueError: ``sharded`` has not been sharded, or no process group of its name is up.
    """
    plan = shard_plan_of(sharded)
    layouts = _by_identity(model, plan)
    wholes: dict[int, torch.Tensor] = {}

    def whole(tensor: Any) -> Any:
        if id(tensor) in layouts:
            if id(tensor) not in wholes:
                wholes[id(tensor)] = _gather(tensor, layouts[id(tensor)], plan)
            return wholes[id(tensor)]
        return tensor.detach().clone() if isinstance(tensor, torch.Tensor) else tensor

    return {key: whole(tensor) for key, tensor in model.state_dict(keep_vars=True).items()}


def load_full_state_dict(model: nn.Module, sharded: object, state: Mapping[str, Any]) -> None:
    """Give a sharded model the values of a whole one, in place: each rank takes its shards.

    Args:
        model: whose parameters are shards.
        sharded: the joint graph that ``hv.apply_passes`` returned, or its graph module.
        state: as ``full_state_dict`` or the ``state_dict`` of an unsharded model gives it; the same on every rank.

    Raises:
        ValueError: a name is missing or unknown, or a shape differs; the model is left as it was.
    """
    plan = shard_plan_of(sharded)
    layouts = _by_identity(model, plan)
    own = model.state_dict(keep_vars=True)
    for key in (*own, *state):
        if key not in state or key not in own:
            side, other = ("state", state) if key not in state else ("model", own)
            raise ValueError(f"state must hold what the model does, but {key!r} is not in the {side}{_near(key, other)}")
    cut = {}
    for key, tensor in own.items():
        layout = layouts.get(id(tensor))
        wanted = layout.shape if layout else tuple(getattr(tensor, "shape", ()))
        if tuple(getattr(state[key], "shape", ())) != wanted:
            raise ValueError(f"state[{key!r}] must have the whole shape {wanted}, got {tuple(getattr(state[key], 'shape', ()))}")
        cut[key] = layout.shard(state[key], plan.group.rank) if layout else state[key]
    model.load_state_dict(cut)


def _by_identity(model: nn.Module, plan: ShardPlan) -> dict[int, ShardLayout]:
    """Id of a sharded parameter → its layout: a tied one has several names in a state dict."""
    parameters = dict(model.named_parameters())
    for fqn, layout in plan.layouts.items():
        came = tuple(parameters[fqn].shape) if fqn in parameters else None
        if came != layout.shard_shape:
            raise ValueError(f"model must have a shard of shape {layout.shard_shape} as parameter {fqn!r}, got {came}")
    return {id(parameters[fqn]): layout for fqn, layout in plan.layouts.items()}


def _gather(shard: torch.Tensor, layout: ShardLayout, plan: ShardPlan) -> torch.Tensor:
    resolve(plan.group.name)
    buffer = shard.detach().new_empty(layout.gathered_shape)
    gathered = c10d.all_gather_into_tensor_out(shard.detach().contiguous(), layout.degree, plan.group.name, out=buffer)
    return layout.whole(c10d.wait_tensor(gathered)).clone()


def _near(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; it has {near[0]!r}" if near else ""
