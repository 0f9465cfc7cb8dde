"""Moves every operator's result by a few units in its last place, to see how far rounding alone can carry a program's outputs."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from hyperviz.measure.bits import raw_bits

ULPS = 2
_PARTIAL_SUMS = 16
_LAUNCHERS = ("_c10d_functional", "c10d")
# Operators that sum along a dimension without making the tensor smaller, and which argument names it.
_ALONG = {"_softmax": 1, "_log_softmax": 1, "_softmax_backward_data": 2, "_log_softmax_backward_data": 2} | dict.fromkeys(
    ("cumsum", "cumprod", "logcumsumexp"), 1
)


class _Onlooker(TorchDispatchMode):
    """A mode that compiled code runs under as it would without: what it does inside is not seen."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Keeps ``torch.compile`` from leaving a function eager, now and later, because a mode was there when it was called."""
        return True


class Listen(_Onlooker):
    """Runs a program as it is and writes down its operators.

    Attributes:
        calls: (operator, terms) for each call in order; terms is how many numbers the operator adds up to make one of a result.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, float]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.calls.append((str(func), _terms(func, args, result)))
        return result


class Nudge(_Onlooker):
    """Runs a program with roundings that it might as well have had.

    Up to ``ULPS`` units in the last place are added to each number that an operator computes, at random. That is what another order of
    the same additions, another library's ``exp`` or a fused multiply-add does to it, and somewhat more: Monte Carlo arithmetic (D. S.
    Parker, 1997) with the operator as its step. Every operator is moved in its own precision, so mixed precision needs no special care.

    A float32 or float64 sum of ``n`` numbers is moved by ``sqrt(n / 16)`` times as much, and so are the numbers that it adds, each by
    itself and all together; that reaches sums that cancel, and those inside of an operator. A computed sum is the exact sum of terms
    that are off by about ``sqrt(n)`` roundings (Higham and Mary, "A New Approach to Probabilistic Rounding Error Analysis", 2019), and
    most kernels hold at least 16 partial sums. Half precision is added up in float32.

    Exact numbers stay exact: zeros, whole numbers (masks, counts, positions), infinities and NaNs. What an operator writes into its
    inputs is not touched, nor what it only looks at in another way.

    Args:
        calls: what ``Listen`` wrote down of the same program.
        seed: of the moves; the program's own random numbers do not notice.
    """

    def __init__(self, calls: Sequence[tuple[str, float]], seed: int) -> None:
        super().__init__()
        self._calls = iter(calls)
        self._random = random.Random(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        name, terms = next(self._calls, ("", 1.0))
        growth = max(1.0, math.sqrt(terms / _PARTIAL_SUMS)) if name == str(func) else 1.0  # another path was taken if not
        written, fresh = _writes(func)
        if growth > 1:
            largest = _largest(args)
            args = tuple(self._summands(arg, growth) if arg is largest and i not in written else arg for i, arg in enumerate(args))
        result = func(*args, **(kwargs or {}))
        return tree_map(lambda value: self._moved(value, growth), result) if fresh else result

    def move_inputs(self, inputs: Sequence[object]) -> None:
        """Moves inputs, in place: what happens inside compiled code cannot be moved, and this passes through it."""
        for value in inputs:
            if isinstance(value, torch.Tensor) and _is_float(value) and value.layout == torch.strided and 0 not in value.stride():
                self._move(value.detach(), 1.0)

    def _moved(self, value: Any, growth: float) -> Any:
        return self._move(value.clone(), growth) if _is_float(value) else value

    def _summands(self, value: torch.Tensor, growth: float) -> torch.Tensor:
        """A copy of what is added up: each number moved by itself, and all of them together."""
        return self._move(self._move(value.clone(), growth), growth, together=True)

    def _move(self, value: torch.Tensor, growth: float, together: bool = False) -> torch.Tensor:
        """Moves the inexact numbers of a float tensor to other representable ones, in place."""
        if value.element_size() == 1 or not value.numel():
            return value
        bits = raw_bits(value)
        steps = self._steps(bits[(slice(1),) * bits.dim()] if together else bits)
        if growth > 1 and value.element_size() >= 4:
            steps = steps * min(int(growth), 1 << 18)
        bits += torch.where(_inexact(value), steps, 0)
        return value

    def _steps(self, bits: torch.Tensor) -> torch.Tensor:
        """From -ULPS to ULPS at random, in the shape and type of ``bits``: a stretch of a long pool, as drawing costs more than using."""
        pool = _pool(bits.device, bits.dtype)
        start, wanted = self._random.randrange(len(pool)), bits.numel()
        if start + wanted > len(pool):
            pool = pool.repeat((start + wanted) // len(pool) + 1)
        return pool[start : start + wanted].view(bits.shape)


@functools.cache
def _pool(device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Steps to take stretches of; its length is a prime, so that no row or column of a tensor falls in with it."""
    generator = torch.Generator(device).manual_seed(0)
    return torch.randint(-ULPS, ULPS + 1, (1_000_003,), dtype=dtype, device=device, generator=generator)


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _largest(args: tuple[Any, ...]) -> torch.Tensor | None:
    return max(filter(_is_float, args), key=torch.Tensor.numel, default=None)


def _terms(func: Any, args: tuple[Any, ...], result: Any) -> float:
    """How many numbers an operator adds up: along the dimension that it is given, or behind each number of its smallest result."""
    along = _ALONG.get(str(func).split(".")[1]) if str(func).startswith("aten.") else None
    if along is not None and args[0].dim():
        return args[0].size(args[along])
    largest = _largest(args)
    sizes = [value.numel() for value in tree_leaves(result) if _is_float(value) and value.numel()]
    return largest.numel() / min(sizes) if sizes and largest is not None else 1.0


def _writes(func: Any) -> tuple[set[int], bool]:
    """Which arguments an operator writes into, by position, and whether all that it returns is its own."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return set(), True  # a higher-order operator
    written = {i for i, argument in enumerate(schema.arguments) if argument.alias_info is not None}
    if func.namespace in _LAUNCHERS:
        return written, False  # what is in flight must not be read, and the wait hands it on
    return written, all(value.alias_info is None for value in schema.returns)


def _inexact(value: torch.Tensor) -> torch.Tensor:
    """Where a number is the result of rounding, as far as one can tell: not whole, or too large for that to mean much."""
    info = torch.finfo(value.dtype)
    low, high = value.aminmax()
    largest, fraction = max(-low, high), value != value.floor()
    if largest < info.eps**-0.5 or (largest < 1 / info.eps and value.numel() > 1 and not fraction.any()):
        return fraction
    size = value.abs()
    return (fraction | (size >= info.eps**-0.5)) & (size < info.max / 2)
