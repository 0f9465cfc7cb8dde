"""Moves every operator's result by a few units in its last place, to see how far rounding alone can carry a program's outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from hyperviz.measure.bits import raw_bits

ULPS = 2
_PARTIAL_SUMS = 16


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
        calls: (operator, terms) for each call in order; terms is how many numbers of its largest input stand behind one number of its
            smallest float result, which for a reduction is how many it adds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, float]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        sizes = [value.numel() for value in tree_leaves(result) if _is_float(value) and value.numel()]
        largest = _largest(args)
        self.calls.append((str(func), largest.numel() / min(sizes) if sizes and largest is not None else 1.0))
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
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        name, terms = next(self._calls, ("", 1.0))
        growth = max(1.0, math.sqrt(terms / _PARTIAL_SUMS)) if name == str(func) else 1.0  # another path was taken if not
        written, fresh = _writes(func)
        if growth > 1:
            largest = _largest(args)
            args = tuple(self._terms(arg, growth) if arg is largest and i not in written else arg for i, arg in enumerate(args))
        result = func(*args, **(kwargs or {}))
        return tree_map(lambda value: self._moved(value, growth), result) if fresh else result

    def move_inputs(self, inputs: Sequence[object]) -> None:
        """Moves inputs, in place: what happens inside compiled code cannot be moved, and this passes through it."""
        for value in inputs:
            if isinstance(value, torch.Tensor) and _is_float(value) and value.layout == torch.strided and 0 not in value.stride():
                self._move(value.detach(), 1.0)

    def _moved(self, value: Any, growth: float) -> Any:
        return self._move(value.clone(), growth) if _is_float(value) else value

    def _terms(self, value: torch.Tensor, growth: float) -> torch.Tensor:
        """A copy of what is added up: each number moved by itself, and all of them together."""
        return self._move(self._move(value.clone(), growth), growth, together=True)

    def _move(self, value: torch.Tensor, growth: float, together: bool = False) -> torch.Tensor:
        """Moves the inexact numbers of a float tensor to other representable ones, in place."""
        if value.element_size() == 1 or not value.numel():
            return value
        bits = raw_bits(value)
        bound = ULPS * min(int(growth), 1 << 20) if value.element_size() >= 4 else ULPS
        shape = [1] * bits.dim() if together else bits.shape
        steps = torch.randint(-bound, bound + 1, shape, dtype=bits.dtype, device=bits.device, generator=self._generator(bits.device))
        bits += torch.where(_inexact(value), steps, 0)
        return value

    def _generator(self, device: torch.device) -> torch.Generator:
        if device not in self._generators:
            self._generators[device] = torch.Generator(device).manual_seed(self._seed)
        return self._generators[device]


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _largest(args: tuple[Any, ...]) -> torch.Tensor | None:
    return max(filter(_is_float, args), key=torch.Tensor.numel, default=None)


def _writes(func: Any) -> tuple[set[int], bool]:
    """Which arguments an operator writes into, by position, and whether all that it returns is its own."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return set(), True  # a higher-order operator
    written = {i for i, argument in enumerate(schema.arguments) if argument.alias_info is not None}
    return written, all(value.alias_info is None for value in schema.returns)


def _inexact(value: torch.Tensor) -> torch.Tensor:
    """Where a number is the result of rounding, as far as one can tell: not whole, or too large for that to mean much."""
    info = torch.finfo(value.dtype)
    size = value.abs()
    whole = size == size.floor()
    if whole.all() and value.numel() > 1:
        return torch.zeros_like(whole)
    return ~(whole & (size < info.eps**-0.5)) & (size < info.max / 2)
