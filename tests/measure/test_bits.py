"""Bits, steps between representable numbers, and the numbers that a difference is described by."""

import math
import struct

import pytest
import torch

from hyperviz.measure.bits import as_real, differ, ulps_apart
from hyperviz.measure.difference import measure_difference

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def nan_with_payload(payload):
    return struct.unpack("<f", struct.pack("<I", 0x7FC00000 | payload))[0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_are_one_apart(dtype):
    numbers = torch.tensor([1.0, 0.5, 100.0, -3.0, 0.0, -1e-3], dtype=dtype)
    up = torch.nextafter(numbers, torch.tensor(math.inf, dtype=dtype))
    assert ulps_apart(numbers, up).tolist() == [1] * len(numbers)
    assert ulps_apart(up, numbers).tolist() == [1] * len(numbers)


@pytest.mark.parametrize("dtype", FLOATS)
def test_steps_are_counted_across_zero(dtype):
    tiny = torch.nextafter(torch.zeros(1, dtype=dtype), torch.ones(1, dtype=dtype))
    assert ulps_apart(tiny, -tiny).item() == 2
    assert ulps_apart(torch.zeros(1, dtype=dtype), -torch.zeros(1, dtype=dtype)).item() == 0


def test_steps_between_powers_of_two_are_the_mantissa():
    assert ulps_apart(torch.tensor([1.0]), torch.tensor([2.0])).item() == 2**23
    assert ulps_apart(torch.tensor([1.0]).bfloat16(), torch.tensor([2.0]).bfloat16()).item() == 2**7
    assert ulps_apart(torch.tensor([1.0]).half(), torch.tensor([2.0]).half()).item() == 2**10


def test_a_float64_distance_beyond_int64_is_the_largest():
    far = torch.tensor([-1e308], dtype=torch.float64)
    assert ulps_apart(far, -far).item() == 2**63 - 1


@pytest.mark.parametrize(("nan", "expected"), [("bits", [True, True, False, True]), ("equal", [False, False, False, True])])
def test_nans_by_bits_or_as_one(nan, expected):
    first = torch.tensor([nan_with_payload(1), math.nan, math.nan, math.nan])
    second = torch.tensor([nan_with_payload(2), -math.nan, math.nan, 1.0])
    assert differ(first, second, nan, "bits").tolist() == expected


@pytest.mark.parametrize(("zeros", "expected"), [("bits", [True, False, True]), ("equal", [False, False, True])])
def test_zeros_by_bits_or_as_one(zeros, expected):
    first, second = torch.tensor([0.0, -0.0, 0.0]), torch.tensor([-0.0, -0.0, 1e-45])
    assert differ(first, second, "bits", zeros).tolist() == expected


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float8_e5m2])
def test_other_types_have_bits_too(dtype):
    ones = torch.ones(3).to(dtype)
    assert not differ(ones, ones, "equal", "equal").any()
    assert differ(ones, torch.zeros(3).to(dtype), "equal", "equal").all()


def test_complex_numbers_are_pairs_and_conjugates_are_written_out():
    number = torch.tensor([1 + 2j])
    assert as_real(number.conj()).tolist() == [1.0, -2.0]
    assert as_real(number.conj().imag).tolist() == [-2.0]


def test_a_difference_in_numbers():
    difference = measure_difference(torch.tensor([1.0, 2.0, 0.0, 4.0]), torch.tensor([1.0, 2.5, 0.25, 4.0]))
    assert (difference.total, difference.mismatched) == (4, 2)
    assert difference.max_abs == 0.5
    assert difference.max_rel == 0.25
    assert difference.rms == pytest.approx(math.sqrt((0.5**2 + 0.25**2) / 4))
    assert difference.scale == 4.0


def test_what_is_not_finite_is_counted_apart():
    first = torch.tensor([math.nan, 1.0, math.inf, -math.inf, math.inf, math.nan])
    second = torch.tensor([1.0, math.nan, math.inf, math.inf, 3.0, math.nan])
    difference = measure_difference(first, second)
    assert (difference.num_nan, difference.num_infinite) == (2, 2)
    assert (difference.mismatched, difference.max_abs, difference.max_ulp) == (4, 0.0, 0)


def test_integers_have_no_last_place_and_empty_tensors_no_difference():
    assert measure_difference(torch.tensor([1, 2]), torch.tensor([1, 5])).max_ulp is None
    empty = measure_difference(torch.ones(0), torch.ones(0))
    assert (empty.total, empty.mismatched, empty.max_ulp, empty.max_abs, empty.max_rel) == (0, 0, 0, 0.0, None)


def test_large_tensors_are_measured_in_pieces(monkeypatch):
    first = torch.linspace(-3, 5, 1000)
    second = torch.nextafter(first, torch.tensor(10.0))
    whole = measure_difference(first, second)
    monkeypatch.setattr("hyperviz.measure.difference._CHUNK", 64)
    pieces = measure_difference(first, second)
    assert pieces.rms == pytest.approx(whole.rms)
    assert (pieces.total, pieces.mismatched, pieces.max_ulp) == (whole.total, whole.mismatched, whole.max_ulp)
    assert (pieces.max_abs, pieces.max_rel, pieces.scale) == (whole.max_abs, whole.max_rel, whole.scale)
