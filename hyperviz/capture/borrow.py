"""Lending a model other tensors for a while, and giving it back exactly as it was."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True, slots=True)
class ModelState:
    """The tensors of a model that are inputs of its step: parameters, then buffers; a tied one once, under its first name.

    Attributes:
        fqns: fully qualified names.
        is_param: whether each is a parameter.
        tensors: the model's own.
    """

    fqns: tuple[str, ...]
    is_param: tuple[bool, ...]
    tensors: tuple[torch.Tensor, ...]

    @staticmethod
    def of(model: nn.Module) -> ModelState:
        """Reads the state of ``model``.

        Raises:
            ValueError: not an ``nn.Module``, or a lazy parameter has no shape yet.
        """
        if not isinstance(model, nn.Module):
            hint = "; call it to make one" if isinstance(model, type) and issubclass(model, nn.Module) else ""
            raise ValueError(f"model must be a torch.nn.Module, got {_type_name(model)}{hint}")
        parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
        for fqn, tensor in (*parameters.items(), *buffers.items()):
            if nn.parameter.is_lazy(tensor):
                raise ValueError(f"model must have every parameter initialised, but {fqn!r} is lazy: run it once on a batch")
        return ModelState(
            fqns=(*parameters, *buffers),
            is_param=(True,) * len(parameters) + (False,) * len(buffers),
            tensors=(*parameters.values(), *buffers.values()),
        )


def _type_name(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


@contextmanager
def lend(model: nn.Module, state: ModelState, tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """Puts ``tensors`` in the place of the model's own, tied places alike; afterwards every attribute of every module is as it was.

    What is restored is each module's ``__dict__`` and its dicts of parameters, buffers and submodules: a training flag, a cached
    activation or a rebound buffer that the program left behind goes with the loan. A list or dict that the program edits in place stays.
    """
    lent = {id(own): other for own, other in zip(state.tensors, tensors, strict=True)}
    modules = list(model.modules())
    before = [(module, dict(module.__dict__), [(slot, dict(slot)) for slot in _slots(module)]) for module in modules]
    try:
        for module in modules:
            for slot in _slots(module)[:2]:
                slot.update({name: lent[id(own)] for name, own in slot.items() if own is not None})
        yield
    finally:
        for module, attributes, slots in before:
            _restore(module.__dict__, attributes)
            for slot, contents in slots:
                _restore(slot, contents)


def _slots(module: nn.Module) -> list[dict[str, Any]]:
    return [module._parameters, module._buffers, module._modules]


def _restore(target: dict[str, Any], contents: dict[str, Any]) -> None:
    target.clear()
    target.update(contents)


def rebound_buffers(model: nn.Module, state: ModelState, tensors: Sequence[torch.Tensor]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """(lent, new) for every lent buffer that the program replaced by another tensor (``self.mean = …``) instead of writing into it.

    Raises:
        ValueError: the new value is no tensor of the same shape and dtype, so that no graph could write it into the buffer.
    """
    for fqn, is_param, given in zip(state.fqns, state.is_param, tensors, strict=True):
        path, _, name = fqn.rpartition(".")
        module = model.get_submodule(path)
        now = module._parameters.get(name, None) if is_param else module._buffers.get(name, None)
        if now is given:
            continue
        if is_param:
            raise ValueError(f"the step must not replace parameters, but it assigned a new one to {fqn!r}")
        if now is None or now.shape != given.shape or now.dtype != given.dtype:
            came = "nothing" if now is None else f"{now.dtype} of shape {tuple(now.shape)}"
            raise ValueError(f"buffer {fqn!r} must keep {given.dtype} and shape {tuple(given.shape)} during the step, got {came}")
        yield given, now


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Leaves the random generators of torch, Python and, where it is in use, NumPy as they were."""
    python_state, numpy = random.getstate(), sys.modules.get("numpy")
    numpy_state = numpy.random.get_state() if numpy else None
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python_state)
        if numpy:
            numpy.random.set_state(numpy_state)
