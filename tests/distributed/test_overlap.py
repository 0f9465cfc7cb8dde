"""Buckets and overlap on real gloo ranks: the same bits as without, the same order on every rank, memory given back."""

from __future__ import annotations

import overlap_work as work

from hyperviz.distributed import launch


def test_buckets_return_the_same_bits_on_two_ranks():
    for rank in launch(work.bucket_alike, 2):
        assert all(alike for alike, _ in rank.values()), rank
        assert rank["one for each module"][1] == 14 and rank["of some hundred bytes"][1] > 40
