"""A sharded step on real gloo ranks: it trains as torch's own and as one process do, and gives memory back."""

from __future__ import annotations

import pytest
import sharded_work as work

from hyperviz.distributed import RankError, launch


@pytest.fixture(scope="module")
def trained():
    return launch(work.train_three_ways, 2)


def test_losses_follow_fully_shard_and_a_single_process(trained):
    for rank in trained:
        assert len(rank["ours"]) == 20 and rank["ours"][-1] < rank["ours"][0]
        assert rank["ours"] == pytest.approx(rank["fully_shard"], rel=1e-5)
        assert rank["ours"] == pytest.approx(rank["alone"], rel=1e-4)


def test_state_dicts_go_both_ways(trained):
    for rank in trained:
        for fact in ("state is alone's", "state has all keys", "state comes back", "shards are smaller"):
            assert rank[fact], fact


def test_sizes_that_divide_by_nothing_train_to_the_same_losses():
    for rank in launch(work.train_primes, 2):
        alone = rank.pop("alone")
        assert len(rank) == 3 and alone[-1] < alone[0]
        for losses in rank.values():
            assert losses == pytest.approx(alone, rel=1e-4, abs=1e-6)


def test_gathered_storages_are_released_in_the_middle_of_the_step():
    for rank in launch(work.watch_memory, 2):
        resharded, kept = rank["resharded"], rank["kept"]
        # The tied embedding, which the backward reads first, is whole still; nothing else is.
        assert resharded["middle"] == resharded["whole"] > 0 and resharded["most"] > 0
        assert kept["middle"] == kept["most"] > 3 * resharded["most"]
        assert resharded["peak"] < kept["peak"]


def test_compiled_modes_agree_with_eager_and_regional_keeps_the_order():
    for rank in launch(work.compile_each_mode, 2, 600):
        assert all(found["verdict"] == found["verdict alone"] for mode, found in rank.items() if mode != "timed")
        assert rank["off"]["verdict"] == "bitwise" and rank["off"]["same order"]
        assert rank["regional"]["verdict"] in ("bitwise", "rounding") and rank["regional"]["same order"]
        assert rank["full"]["verdict"] in ("bitwise", "rounding") and rank["full"]["regions"] == 1
        assert rank["regional"]["regions"] > 1 and rank["timed"] == ["eager", "regional"]


def test_ranks_that_disagree_say_where_before_anything_changes():
    first, second = launch(work.disagree, 2)
    assert first == second
    sentence, untouched = first
    assert sentence.startswith("all ranks must communicate in the same order, but at step 0 rank 0 has ")
    assert "of first" in sentence and "and rank 1 has " in sentence and "of second" in sentence
    assert untouched


def test_four_ranks_shard_over_all_in_pairs_with_replicas_and_in_pairs_alone():
    ranks = launch(work.shard_in_pairs, 4)
    for rank in ranks:
        assert rank["groups are made once"]
        assert rank["hybrid"] == pytest.approx(rank["alone"], rel=1e-4, abs=1e-6)
        assert rank["four"] == pytest.approx(rank["alone"], rel=1e-4, abs=1e-6)
        assert rank["pairs"] == pytest.approx(rank["pairs alone"], rel=1e-4, abs=1e-6)
        assert rank["pairs"] != pytest.approx(rank["alone"], rel=1e-4, abs=1e-6)


def test_thirty_gathers_in_flight_run_fifty_times():
    for notes, losses in launch(work.fly_thirty_gathers, 2):
        assert "30 gathers write into buffers of their own" in notes[0]
        assert list(losses) == [pytest.approx(sum(index * index * 1.5 for index in range(30)))]


def test_a_rank_that_is_killed_in_the_middle_of_a_step_ends_all_within_the_limit(nothing_left):
    with pytest.raises(RankError, match="rank 1 of 2 was ended by SIGKILL") as caught:
        launch(work.die_in_the_middle, 2, timeout_s=120)
    assert (caught.value.rank, caught.value.signal, caught.value.timed_out) == (1, "SIGKILL", False)
    nothing_left()
