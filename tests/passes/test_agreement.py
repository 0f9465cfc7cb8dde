"""Ranks that would communicate in different orders are found before they hang."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from small_graphs import traced

from hyperviz.graph.gathers import rewrite_gathers
from hyperviz.passes.agreement import Step, find_difference, steps_of

c10d = torch.ops._c10d_functional


def test_the_first_difference_is_named_on_both_ranks():
    first = [Step("gather", (0, 1), "gather", "blocks.0"), Step("wait", (0, 1), "wait")]
    second = [Step("gather", (0, 1), "gather_7"), Step("scatter", (0, 1), "scatter", "head"), Step("wait", (0, 1), "wait")]
    assert find_difference(0, first, 1, first) == ""
    assert find_difference(0, first, 1, second) == "at step 1 rank 0 has wait (wait) and rank 1 has scatter (scatter) of head"
    assert find_difference(0, first, 1, first[:1]) == "at step 1 rank 0 has wait (wait) and rank 1 has nothing more"


def test_only_what_both_ranks_take_part_in_is_compared():
    pair, other = Step("reduce", (0, 1), "reduce"), Step("reduce", (0, 2), "reduce_1")
    assert find_difference(0, [pair, other], 1, [pair]) == ""
    assert "rank 2 has nothing more" in find_difference(0, [pair, other], 2, [])


@pytest.fixture(scope="module")
def gloo():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD.group_name
    dist.destroy_process_group()


def _gathering(group, together):
    def program(x, y):
        first = c10d.all_gather_into_tensor(x, 1, group)
        if not together:
            first = c10d.wait_tensor(first)
        second = c10d.wait_tensor(c10d.all_gather_into_tensor(y, 1, group))
        return (c10d.wait_tensor(first) if together else first) + second

    return program


def test_steps_are_launches_waits_and_frees(gloo):
    graph = traced(_gathering(gloo, True), torch.ones(2), torch.ones(2)).graph
    wait = next(node for node in graph.nodes if node.target is c10d.wait_tensor.default)
    with graph.inserting_before(graph.output_node()):
        graph.call_function(torch.ops.inductor.resize_storage_bytes_.default, (wait, 0))
    steps = list(steps_of(graph))
    assert [step.what.split()[0] for step in steps] == ["all_gather_into_tensor"] * 2 + ["wait_tensor"] * 2 + ["resize_storage_bytes_"]
    assert all(step.ranks == (0,) for step in steps) and "float32[2]" in steps[0].what


def test_gathers_that_would_be_in_flight_together_write_into_buffers_of_their_own(gloo):
    graph = traced(_gathering(gloo, True), torch.ones(2), torch.ones(2))
    assert rewrite_gathers(graph).startswith("2 gathers write into buffers of their own")
    targets = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert targets.count("aten.empty.memory_format") == targets.count("_c10d_functional.all_gather_into_tensor_out.default") == 2
    assert graph(torch.ones(2), torch.full((2,), 3.0)).tolist() == [4, 4]
    assert rewrite_gathers(graph) == ""


def test_gathers_that_are_waited_for_at_once_are_left_alone(gloo):
    graph = traced(_gathering(gloo, False), torch.ones(2), torch.ones(2))
    before = graph.code
    assert rewrite_gathers(graph) == "" and graph.code == before
