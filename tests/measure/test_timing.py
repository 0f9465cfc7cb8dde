"""The statistics of timings, on samples given by hand."""

import math

import pytest

from hyperviz.snapshot import Timing, Timings
from hyperviz.snapshot.timing import median_interval, min_samples


def timings(confidence=0.95, **samples):
    rows = tuple(
        Timing(name, tuple(times), sorted(times)[len(times) // 2], min(times), max(times), 4000) for name, times in samples.items()
    )
    return Timings(rows, confidence)


@pytest.mark.parametrize(
    ("number", "ends"), [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (15, (4, 12)), (20, (6, 15)), (30, (10, 21)), (50, (18, 33))]
)
def test_the_ends_are_those_of_the_tables(number, ends):
    shuffled = [float(i) for i in range(number, 0, -1)]
    assert median_interval(shuffled, 0.95) == ends


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_an_interval_has_its_confidence_and_the_next_smaller_one_has_not(confidence):
    for number in range(min_samples(confidence), 60):
        low, high = median_interval(range(1, number + 1), confidence)
        assert low + high == number + 1
        outside = [2 * sum(math.comb(number, i) for i in range(k)) / 2**number for k in (low, low + 1)]
        assert outside[0] <= 1 - confidence < outside[1]


def test_too_few_samples_are_refused():
    assert min_samples(0.95) == 6
    with pytest.raises(ValueError, match="an interval of 95% needs at least 6 samples, got 5"):
        median_interval([1.0] * 5, 0.95)


def test_a_ratio_pairs_the_rounds():
    slow_rounds = [1.0, 1.0, 10.0, 1.0, 1.0, 10.0, 1.0]
    ratio = timings(first=[2 * time for time in slow_rounds], second=slow_rounds).ratio("first", "second")
    assert (ratio.median, ratio.low, ratio.high, ratio.confidence) == (2.0, 2.0, 2.0, 0.95)
    assert ratio.conclusion == "second is faster"
    back = timings(first=[2 * time for time in slow_rounds], second=slow_rounds).ratio("second", "first")
    assert (back.median, back.conclusion) == (0.5, "second is faster")


def test_an_interval_around_one_shows_nothing():
    ratio = timings(a=[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], b=[2.0, 1.0, 2.0, 1.0, 2.0, 1.0]).ratio("a", "b")
    assert ratio.low < 1 < ratio.high
    assert ratio.conclusion == "no difference shown"


def test_candidates_are_found_by_name_and_a_slip_is_met_with_the_near_miss():
    found = timings(eager=[1.0] * 6, regional=[2.0] * 6)
    assert found["regional"].samples_ms == (2.0,) * 6
    with pytest.raises(ValueError, match="no candidate is called 'regionl'; did you mean 'regional'"):
        found["regionl"]
    with pytest.raises(ValueError, match="no candidate is called 'zzz'; there are 'eager', 'regional'"):
        found.ratio("eager", "zzz")


def test_the_table_says_everything():
    lines = str(timings(eager=[2.0] * 6, regional=[1.0] * 6)).splitlines()
    assert lines[0].split("  ")[0] == "candidate"
    assert lines[1].split() == ["eager", "2", "ms", "[2,", "2]", "0.004", "MB"]
    assert lines[2].endswith("2.00x [2.00, 2.00]: regional is faster")
