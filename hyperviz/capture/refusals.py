"""What cannot be captured, said in one sentence that names the user's line."""

from __future__ import annotations

import difflib
import inspect
import linecache
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import fx
from torch._subclasses import fake_tensor
from torch.utils import checkpoint

from hyperviz.graph.sources import is_user_frame


class UnfaithfulOperatorError(Exception):
    """An operator depends on a switch or a state that no graph holds."""


_TRACING = str(Path(__file__).with_name("tracing.py"))
_RULES: tuple[tuple[type[Exception], str, str], ...] = (
    (fake_tensor.DynamicOutputShapeException, "", "the step must have shapes that do not depend on the values of tensors"),
    (fake_tensor.DataDependentOutputException, "", "the step must not let Python decide on the values of tensors"),
    (Exception, "data-dependent expression", "the step must not let Python decide on the values of tensors"),
    (Exception, "get value out of a tracing tensor", "the step must not let Python decide on the values of tensors"),
    (Exception, "not supported for tensor subclasses", "the step must not take tensors out of torch"),
    (fake_tensor.UnsupportedOperatorException, "", "the step must use operators that torch can run on fake tensors"),
    (fake_tensor.UnsupportedFakeTensorException, "", "the step must use tensors that torch has a fake kind of"),
    (UnfaithfulOperatorError, "", "the step must use operators that do in a graph what they do in the program"),
    (RuntimeError, "backward through the graph a second time", "train_fn must return the loss and leave its backward to the capture"),
)
_UNFAITHFUL = {
    "aten.mkldnn_rnn_layer.default": "oneDNN's LSTM runs differently without autograd; "
    "after torch.backends.mkldnn.set_flags(False), torch takes another that does not",
}


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
    return next((rule for kind, text, rule in _RULES if isinstance(error, kind) and text in str(error)), None)


def _where(error: Exception) -> str:
    """The innermost line of the user's that an exception passed through on its way out of ``train_fn``."""
    frames = list(traceback.walk_tb(error.__traceback__))
    start = max((i for i, (frame, _) in enumerate(frames) if frame.f_code.co_filename == _TRACING), default=-1) + 1
    for frame, line in reversed(frames[start:]):
        file = frame.f_code.co_filename
        if is_user_frame(file, frame.f_code.co_name):
            return f"{file}:{line} has `{linecache.getline(file, line).strip()}`"
    return "it does"


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
        given = ", ".join(inputs) or "nothing"
        near = [f"; did you mean {name!r}?" for key in inputs if key not in signature.parameters for name in _close(key, signature)]
        message = f"train_fn must take the model and then the inputs by name, but {_name(train_fn)}{signature} was given {given}: {error}"
        raise ValueError(message + "".join(near[:1])) from None


def _close(key: str, signature: inspect.Signature) -> list[str]:
    return difflib.get_close_matches(key, signature.parameters, n=1)


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


def check_operator(node: fx.Node, in_backward: bool) -> None:
    """Checks that a node that was just traced will do, when the graph runs, what it does in the program.

    Raises:
        UnfaithfulOperatorError: it would not.
    """
    if not isinstance(node.target, torch._ops.OpOverload):
        return
    reason = _UNFAITHFUL.get(str(node.target), "")
    if in_backward and torch.Tag.nondeterministic_seeded in node.target.tags and _in_checkpoint():
        reason = f"torch.utils.checkpoint runs {node.target} again from a kept state of the random generator, which no graph holds"
    if reason:
        raise UnfaithfulOperatorError(reason)


def _in_checkpoint() -> bool:
    """Whether activations are being recomputed."""
    return any(frame.f_code.co_filename == checkpoint.__file__ for frame, _ in traceback.walk_stack(None))
