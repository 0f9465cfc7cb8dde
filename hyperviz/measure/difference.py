"""How far two runs of one value are apart, in the numbers that a verdict is made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from hyperviz.measure.bits import differ, ulps_apart

_CHUNK = 1 << 22  # bounds the memory of the float64 copies


@dataclass(frozen=True, slots=True)
class Difference:
    """Two tensors of one dtype and size, compared element by element.

    Attributes:
        total: elements; a complex number counts as two.
        mismatched: elements that are unequal under the choice made for NaNs and signed zeros.
        num_nan: elements that are NaN on one side only.
        num_infinite: elements that are infinite on one side only, or with another sign.
        max_ulp: the largest distance in representable numbers, over the elements that are finite on both sides; None for integers.
        max_abs: the largest absolute difference over those elements.
        max_rel: the largest difference relative to the first side, over those that are not 0 there; None where all are.
        rms: the root of the mean square of their differences.
        scale: the largest finite magnitude on the first side.
    """

    total: int
    mismatched: int
    num_nan: int
    num_infinite: int
    max_ulp: int | None
    max_abs: float
    max_rel: float | None
    rms: float
    scale: float


def measure_difference(first: torch.Tensor, second: torch.Tensor, nan: str = "bits", zeros: str = "bits") -> Difference:
    """Compares two flat tensors; ``nan`` and ``zeros`` as in ``hyperviz.measure.bits.differ``."""
    parts = [_measure(one, two, nan, zeros) for one, two in _chunks(first, second.to(first.device))]
    total = first.numel()
    ulps = [part.max_ulp for part in parts if part.max_ulp is not None]
    return Difference(
        total=total,
        mismatched=sum(part.mismatched for part in parts),
        num_nan=sum(part.num_nan for part in parts),
        num_infinite=sum(part.num_infinite for part in parts),
        max_ulp=max(ulps, default=0) if first.is_floating_point() else None,
        max_abs=max((part.max_abs for part in parts), default=0.0),
        max_rel=max((part.max_rel for part in parts if part.max_rel is not None), default=None),
        rms=(sum(part.rms**2 * part.total for part in parts) / max(total, 1)) ** 0.5,
        scale=max((part.scale for part in parts), default=0.0),
    )


def measure_move(first: torch.Tensor, second: torch.Tensor) -> tuple[float, float]:
    """The largest absolute difference of two flat tensors and the root of the mean square, over what is finite on both sides."""
    furthest, squares = 0.0, 0.0
    for one, two in _chunks(first, second):
        apart = torch.nan_to_num(one.double() - two.double(), nan=0.0, posinf=0.0, neginf=0.0)
        furthest = max(furthest, float(torch.linalg.vector_norm(apart, torch.inf)))
        squares += float(torch.linalg.vector_norm(apart)) ** 2
    return furthest, (squares / max(1, first.numel())) ** 0.5


def _chunks(first: torch.Tensor, second: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return zip(first.split(_CHUNK), second.split(_CHUNK), strict=True) if first.numel() else iter(())


def _measure(first: torch.Tensor, second: torch.Tensor, nan: str, zeros: str) -> Difference:
    one, two = first.double(), second.double()
    finite = one.isfinite() & two.isfinite()
    apart = torch.where(finite, (one - two).abs(), 0.0)
    size = torch.where(finite, one.abs(), 0.0)
    relative = (apart / size)[size > 0]
    return Difference(
        total=first.numel(),
        mismatched=int(differ(first, second, nan, zeros).sum()),
        num_nan=int((one.isnan() != two.isnan()).sum()),
        num_infinite=int(((one != two) & ~finite & ~one.isnan() & ~two.isnan()).sum()),
        max_ulp=int(torch.where(finite, ulps_apart(first, second), 0).max()) if first.is_floating_point() else None,
        max_abs=float(apart.max()),
        max_rel=float(relative.max()) if relative.numel() else None,
        rms=float(apart.square().mean().sqrt()),
        scale=float(size.max()),
    )
