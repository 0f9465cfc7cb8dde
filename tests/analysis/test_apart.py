"""Why two regions are not one: forbidden with the path that forbids it, too dear, or nobody has asked for it."""

from __future__ import annotations

import pytest
import torch
from test_balanced import Builder, aten, c10d, layers

import hyperviz as hv

RUNS = hv.PassConfig(inductor_mode="regional")
BALANCED = RUNS.replace(region_strategy="balanced")


def chain(make, x, length=3):
    for _ in range(length):
        x = make.call(aten.relu.default, make.call(aten.mm.default, x, x))
    return x


def reduced(between=lambda make, reduced: None):
    """region_0, a reduction of its result, region_1 on what came back."""
    make = Builder()
    flying = make.call(c10d.all_reduce.default, chain(make, make.placeholder("x")), "sum", "g")
    between(make, flying)
    return make.done(chain(make, make.call(c10d.wait_tensor.default, flying)))


def test_a_path_through_data_forbids_it_and_each_call_between_says_what_holds_it():
    apart = hv.why_apart(reduced(), RUNS, "region_0", "region_1")
    assert apart.why == "order"
    assert [tie.kind for tie in apart.path] == ["data", "data", "data"]
    launch, wait = apart.between
    assert (launch.node, launch.role) == ("all_reduce_default", "collective")
    assert "place in the order is the schedule" in launch.reason
    assert [tie.second for tie in launch.ahead] == ["wait_tensor_default", "mm_default_3"]
    assert [tie.first for tie in wait.behind] == ["relu_default_2", "all_reduce_default"]
    assert "all_reduce_default runs outside regions, and must stay behind region_0 and ahead of region_1" in apart.sentence
    assert "path: relu_default_2 → all_reduce_default (data) → wait_tensor_default (data) → mm_default_3 (data)" in str(apart)


def test_nodes_stand_for_their_regions_in_any_order():
    graph = reduced()
    assert hv.why_apart(graph, RUNS, "relu_default_4", "mm_default").sentence == hv.why_apart(graph, RUNS, "region_0", "region_1").sentence


def test_memory_that_is_freed_forbids_it():
    make = Builder()
    x = make.placeholder("x")
    last = chain(make, x)
    make.free(x)
    make.graph.call_function(torch.ops.inductor.resize_storage_bytes_.default, (x, 1 << 20))
    apart = hv.why_apart(make.done(chain(make, make.call(aten.add.Tensor, x, last))), RUNS, "region_0", "region_1")
    assert apart.why == "order"
    assert {tie.kind for tie in apart.path} == {"memory"}


@torch.library.custom_op("apart_test::tell", mutates_args=())
def tell(x: torch.Tensor) -> None:
    """An effect that nobody can see into."""


@tell.register_fake
def _(x):
    return None


def fenced():
    make = Builder()
    x, y = make.placeholder("x"), make.placeholder("y")
    first = chain(make, x)
    make.graph.call_function(torch.ops.apart_test.tell.default, (y,))
    return make.done(first, chain(make, y))


def test_an_effect_that_nobody_can_see_into_forbids_it():
    apart = hv.why_apart(fenced(), RUNS, "region_0", "region_1")
    assert apart.why == "order"
    assert [tie.kind for tie in apart.path] == ["effect", "effect"]


def test_balanced_moves_nothing_across_such_an_effect():
    """A send that needs one region and a receive that the next one needs would swap, and ranks would hang."""
    plan = hv.plan(fenced(), BALANCED.replace(balance_hidden=1.0, balance_peak=10.0))
    assert len(plan.regions) == 2
    assert not plan.order


def freed(num_layers=4):
    """Layers with nothing between but the free of what each has read."""
    make = Builder()
    x = make.placeholder("x")
    for _ in range(num_layers):
        y = make.call(aten.relu.default, make.call(aten.mm.default, x, x))
        x = make.call(aten.relu.default, make.call(aten.mm.default, y, y))
        make.free(y)
    return make.done(x)


def test_where_balanced_would_join_it_says_so_and_what_it_costs():
    apart = hv.why_apart(freed(), RUNS.replace(balance_peak=10.0), "region_1", "region_2")
    assert apart.why == "strategy"
    assert "'balanced' would join them" in apart.sentence
    assert [(one.role, hv.snapshot.hold_words(one.ahead)) for one in apart.between] == [("effect", "free")]
    assert apart.costs == ()
    assert (apart.joined_peak_bytes or 0) > (apart.peak_bytes or 0) > 0
    assert len(hv.plan(freed(), BALANCED.replace(balance_peak=10.0)).regions) == 1
    refused = hv.why_apart(freed(), RUNS.replace(balance_peak=0.0), "region_1", "region_2")
    assert refused.why == "limits"
    assert "balance_peak=0" in refused.sentence
    assert (refused.peak_bytes, refused.joined_peak_bytes) == (apart.peak_bytes, apart.joined_peak_bytes)


def test_hidden_time_that_would_be_lost_is_told_for_each_collective():
    apart = hv.why_apart(layers(4), RUNS.replace(balance_peak=10.0), "region_1", "region_2")
    assert apart.why == "limits"
    assert "balance_hidden=0" in apart.sentence
    (dear,) = [one for one in apart.costs if not one.allowed]
    assert (dear.hidden_ms or 0) > (dear.joined_ms or 0)
    assert "too dear" in str(apart)
    assert "estimated for H100" in apart.label


def test_regions_that_are_no_neighbours_are_told_what_forbids_it_or_what_stands_between():
    apart = hv.why_apart(layers(4), RUNS, "region_0", "region_3")
    assert (apart.why, apart.num_regions_between) == ("far", 2)
    assert "2 regions and" in apart.sentence
    make = Builder()
    x = chain(make, make.placeholder("x"))
    for _ in range(2):
        x = chain(make, make.call(c10d.wait_tensor.default, make.call(c10d.all_reduce.default, x, "sum", "g")))
    apart = hv.why_apart(make.done(x), RUNS, "region_0", "region_2")
    assert apart.why == "order"
    assert "region" in {tie.kind for tie in apart.path} or len(apart.path) > 6


def test_one_region_no_region_and_no_such_name():
    graph = reduced()
    assert hv.why_apart(graph, RUNS, "mm_default", "relu_default").sentence == "mm_default and relu_default are one region: region_0."
    apart = hv.why_apart(graph, RUNS, "wait_tensor_default", "x")
    assert apart.why == "not compiled"
    assert "wait_tensor_default is in no region: waits for communication" in apart.sentence
    assert "x is in no region: it is an input." in apart.sentence
    assert "compiles nothing" in hv.why_apart(graph, hv.PassConfig(), "mm_default", "relu_default_5").sentence
    with pytest.raises(ValueError, match=r"'region_12' must be a region of the plan or a node of the graph.*did you mean 'region_1'"):
        hv.why_apart(graph, RUNS, "region_0", "region_12")


def test_annotations_that_differ_are_named():
    make = Builder()
    x = chain(make, make.placeholder("x"))
    graph = make.done(chain(make, x))
    calls = [node for node in graph.graph.nodes if node.op == "call_function"]
    for node, name in zip(calls, ["a"] * 6 + ["b"] * 6, strict=True):
        node.meta["custom"] = {"compile_with_inductor": {"inductor_region": name}}
    apart = hv.why_apart(graph, RUNS.replace(region_strategy="annotated"), "region_0", "region_1")
    assert apart.why == "annotation"
    assert "annotation of its own" in apart.sentence
