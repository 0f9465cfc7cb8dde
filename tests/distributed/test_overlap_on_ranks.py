"""Buckets and overlap on real gloo ranks: the same bits as without, the same order on every rank, memory given back."""

from __future__ import annotations

import overlap_work as work
import pytest

from hyperviz.distributed import launch


@pytest.fixture(scope="module")
def two():
    return launch(work.on_two, 2, 600)


def test_one_step_returns_the_same_bits_and_all_ranks_communicate_alike(two):
    for rank in two:
        assert set(rank["same"]) == set(work.VARIANTS)
        for name, (bits, order) in rank["same"].items():
            assert bits and order, name


def test_twenty_steps_are_those_without_overlap_and_follow_fully_shard(two):
    for rank in two:
        trained = rank["trained"]
        assert trained["moves"] > 0 and len(trained["overlapped"]) == 20
        assert trained["overlapped"] == trained["plain"]
        assert trained["overlapped"] == pytest.approx(trained["fully_shard"], rel=1e-5)


def test_buckets_and_what_is_copied_out_of_them_are_released_in_the_middle_of_the_step(two):
    for rank in two:
        resharded, kept = rank["memory"]["resharded"], rank["memory"]["kept"]
        # The tied embedding, which the backward reads first, is whole still; nothing else is.
        assert resharded["middle"] == resharded["whole"] < kept["middle"]
        assert 0 < 3 * resharded["most"] < kept["most"]


def test_a_regional_compile_keeps_the_order_of_everything_that_communicates_or_frees(two):
    for rank in two:
        compiled = rank["compiled"]
        assert compiled["order"] and compiled["verdict"] in ("bitwise", "rounding") and compiled["regions"] > 1


def test_four_ranks_train_to_the_losses_of_one_process():
    for rank in launch(work.on_four, 4):
        assert all(rank["alike"])
        assert rank["hybrid"] == pytest.approx(rank["alone"], rel=1e-4, abs=1e-6)
        assert rank["four"] == pytest.approx(rank["alone"], rel=1e-4, abs=1e-6)
