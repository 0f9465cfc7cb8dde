"""Floating point numbers as the integers that they are stored as: which bits differ, and how many representable numbers apart."""

from __future__ import annotations

import torch

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def as_real(tensor: torch.Tensor) -> torch.Tensor:
    """A flat tensor of the same memory: complex numbers as pairs, conjugates and negations written out."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1)


def raw_bits(tensor: torch.Tensor) -> torch.Tensor:
    """The stored bits as integers of the same width."""
    return tensor.view(_INTEGERS[tensor.element_size()])


def differ(first: torch.Tensor, second: torch.Tensor, nan: str, zeros: str) -> torch.Tensor:
    """Where two flat tensors of one dtype are unequal.

    Args:
        first: real numbers, integers or bools, one dimension.
        second: the same number of elements of the same dtype.
        nan: ``"bits"``: NaNs are equal if all their bits are, payload and sign too. ``"equal"``: any NaN equals any other.
        zeros: ``"bits"``: 0.0 and -0.0 differ. ``"equal"``: they do not.
    """
    unequal = raw_bits(first) != raw_bits(second)
    if nan == "equal":
        unequal &= ~((first != first) & (second != second))
    if zeros == "equal":
        unequal &= ~((first == 0) & (second == 0))
    return unequal


def ulps_apart(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """How many steps from one representable number to the next lie between two tensors, element by element.

    Stored as sign and magnitude, floats of one sign sort as their bits do; mirroring the negative ones makes one line of integers on
    which neighbours are one apart and both zeros are 0 (Bruce Dawson, "Comparing Floating Point Numbers", 2012). Right for finite
    numbers; infinity is one step beyond the largest.

    Returns:
        int64; a float64 distance of 2**63 or more is given as 2**63 - 1.
    """
    left, right = _ordered(first), _ordered(second)
    apart = torch.maximum(left, right) - torch.minimum(left, right)  # below zero only where int64 overflowed
    return torch.where(apart < 0, torch.iinfo(torch.int64).max, apart)


def _ordered(tensor: torch.Tensor) -> torch.Tensor:
    bits = raw_bits(tensor)
    lowest = torch.iinfo(bits.dtype).min
    bits = bits.to(torch.int64)
    return torch.where(bits < 0, lowest - bits, bits)
