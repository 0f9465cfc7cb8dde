"""Worlds of ranks that do not exist: to look at, and gone afterwards."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch import nn

import hyperviz as hv


def step(model, x):
    assert dist.is_initialized() and (dist.get_world_size(), dist.get_rank()) == (8, 3)
    return collectives.all_reduce(model(x), "sum", dist.group.WORLD).sum()


def _capture():
    return hv.trace(nn.Linear(4, 4), step, {"x": torch.ones(2, 4)}, world=hv.FakeWorld(size=8, rank=3))


def test_the_program_sees_the_world_and_nothing_of_it_is_left():
    joint = _capture()
    assert not dist.is_initialized()
    assert repr(joint).endswith("; fake world of 8 ranks: not run")
    for program in (joint, joint.graph_module, hv.compile(joint).graph_module):
        assert hv.plan(program).graph.fake_world == 8
    launches = [node for node in joint.graph_module.graph.nodes if str(node.target) == "_c10d_functional.all_reduce.default"]
    assert launches and all(isinstance(node.args[-1], str) for node in launches)


def test_nothing_of_it_is_left_when_the_capture_fails():
    with pytest.raises(ZeroDivisionError):
        hv.trace(nn.Linear(4, 4), lambda model, x: 1 / 0, {"x": torch.ones(2, 4)}, world=hv.FakeWorld(2))
    assert not dist.is_initialized()


def test_a_real_group_is_there_again_as_it_was():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        world, part, hook = dist.group.WORLD, dist.new_group([0]), sys.excepthook
        _capture()
        assert dist.group.WORLD is world and dist.get_world_size() == 1 and dist.get_world_size(part) == 1
        assert sys.excepthook is hook
        for group in (world, part, dist.new_group([0])):
            value = torch.ones(2)
            dist.all_reduce(value, group=group)
            waited = torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce(value, "sum", group.group_name))
            assert waited.tolist() == [1, 1]
    finally:
        dist.destroy_process_group()


def test_it_compiles_and_refuses_to_run():
    joint = _capture()
    flat = joint.flat_inputs(nn.Linear(4, 4), {"x": torch.ones(2, 4)})
    refusal = "fake world of 8 ranks: not run: to run the step, trace it without world="
    with pytest.raises(ValueError, match=refusal):
        joint.run(*flat)
    compiled = hv.compile(joint)
    with pytest.raises(ValueError, match=refusal):
        compiled(*flat)
    with pytest.raises(ValueError, match=refusal):
        hv.compare(joint, compiled, flat)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0,), "size must be ≥ 1, got 0"),
        ((2, 2), "rank must be from 0 to 1, got 2"),
        (("8",), "size must be a whole number, got '8'"),
    ],
)
def test_a_world_that_cannot_be_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        hv.FakeWorld(*arguments)


def test_only_a_world_is_a_world():
    with pytest.raises(ValueError, match=r"world must be an hv.FakeWorld, got int"):
        hv.trace(nn.Linear(4, 4), step, {"x": torch.ones(2, 4)}, world=8)
