"""What cannot be captured, said in one sentence that names the user's line."""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses import fake_tensor

from hyperviz.graph.sources import is_user_frame

_VALUE = "the step must not depend on the values of tensors outside the graph"
_SHAPE = "the step must have shapes that do not depend on the values of tensors"
_OPERATOR = "the step must use operators that torch can run on fake tensors"


@contextmanager
def refused_clearly() -> Iterator[None]:
    """Turns torch's errors about what a trace cannot hold into a ``ValueError`` with the user's line; lets any other error through."""
    try:
        yield
    except Exception as error:
        rule = _broken_rule(error)
        if rule is None:
            raise
        raise ValueError(f"{rule}, but {_where(error)}: {_first_line(error)}") from error


def _broken_rule(error: Exception) -> str | None:
    text = str(error)
    if isinstance(error, fake_tensor.DataDependentOutputException) or "get value out of a tracing tensor" in text:
        return _VALUE
    if "not supported for tensor subclasses" in text or "data-dependent expression" in text:
        return _VALUE
    if isinstance(error, fake_tensor.DynamicOutputShapeException):
        return _SHAPE
    if isinstance(error, (fake_tensor.UnsupportedOperatorException, fake_tensor.UnsupportedFakeTensorException)):
        return _OPERATOR
    return None


def _where(error: Exception) -> str:
    """The innermost line of the user's that an exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if is_user_frame(frame.filename, frame.name)]
    if not mine:
        return "it does"
    frame = mine[-1]
    code = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return f"{frame.filename}:{frame.lineno} has `{code}`"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def check_signature(train_fn: Callable[..., Any], inputs: Mapping[str, Any]) -> None:
    """Checks that ``train_fn(model, **inputs)`` is a call that Python would make.

    Raises:
        ValueError: it is not callable, or misses an argument, or does not take one.
    """
    if not callable(train_fn):
        raise ValueError(f"train_fn must be a function of the model and the inputs by name, got {type(train_fn).__name__}")
    try:
        signature = inspect.signature(train_fn)
    except (TypeError, ValueError):  # some callables of C have none
        return
    try:
        signature.bind(None, **inputs)
    except TypeError as error:
        wanted = ", ".join(inputs) or "nothing"
        raise ValueError(
            f"train_fn must take the model and then {wanted} by name, but it is {_name(train_fn)}{signature}: {error}"
        ) from None


def check_loss(loss: Any, train_fn: Callable[..., Any]) -> None:
    """Checks that what ``train_fn`` returned can be differentiated.

    Raises:
        ValueError: no tensor, more than one element, not real, or no way back to a parameter.
    """
    subject = f"train_fn must return the loss, a scalar tensor, but {_name(train_fn)} returned"
    if not isinstance(loss, torch.Tensor):
        hint = "; return its .loss" if isinstance(getattr(loss, "loss", None), torch.Tensor) else ""
        raise ValueError(f"{subject} {type(loss).__name__}{hint}")
    if loss.numel() != 1:
        raise ValueError(f"{subject} a tensor of shape {tuple(loss.shape)}: take its mean or sum")
    if not loss.dtype.is_floating_point:
        raise ValueError(f"{subject} a tensor of {loss.dtype}: a loss is a real number")
    if loss.grad_fn is None and not loss.requires_grad:
        raise ValueError(f"{subject} one that depends on no trainable parameter, or was detached")


def _name(train_fn: Callable[..., Any]) -> str:
    return getattr(train_fn, "__name__", type(train_fn).__name__)
