"""Roles and reasons, node by node."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx
from torch._functorch._activation_offloading import offload_ops  # noqa: F401 - registers ao::offload

from hyperviz.analysis import classify

c10d = torch.ops._c10d_functional


def helper(x):
    """Stands for Python that no compiler can see into."""
    return x


def _call(target, *arguments, op="call_function"):
    graph = fx.Graph()
    x = graph.placeholder("x")
    return graph.create_node(op, target, (x, *arguments))


@pytest.mark.parametrize(
    ("node", "role", "reason", "in_full"),
    [
        (_call(torch.ops.aten.relu.default), "compute", "", False),
        (_call(torch.relu), "compute", "", False),
        (_call("relu", op="call_method"), "compute", "", False),
        (_call(torch.ops.aten.native_dropout.default, 0.5, True), "compute", "", False),
        (_call(c10d.all_gather_into_tensor.default, 2, "0"), "collective", "launches communication", False),
        (_call(torch.ops._c10d_functional_autograd.all_gather_into_tensor.default, 2, "0"), "collective", "launches", False),
        (_call(c10d.wait_tensor.default), "wait", "waits for communication", False),
        (_call(c10d.isend.default, 1, 0, "0"), "collective", "point-to-point", True),
        (_call(torch.ops.inductor.resize_storage_bytes_.default, 0), "effect", "registered as side-effectful", True),
        (_call(torch.ops.ao.offload.default), "effect", "offload", True),
        (_call(torch.ops.aten._foreach_zero_.default), "effect", "returns nothing", False),
        (_call(helper), "effect", "Python function 'helper'", True),
        (_call(print), "effect", "Python function 'print'", True),
        (_call("schedule", op="call_module"), "eager", "calls the module schedule", True),
        (_call("weight", op="get_attr"), "placeholder", "", False),
    ],
    ids=lambda value: str(getattr(value.target, "__name__", value.target)) if isinstance(value, fx.Node) else None,
)
def test_role_and_reason(node, role, reason, in_full):
    placement = classify(node)
    assert placement.role == role
    assert reason in placement.reason and bool(placement.reason) == bool(reason)
    assert bool(placement.full) == in_full


def test_a_getitem_is_what_its_producer_is():
    graph = fx.Graph()
    x = graph.placeholder("x")
    gathered = graph.call_function(c10d.all_gather_into_tensor_coalesced.default, ([x, x], 2, "0"))
    first = graph.call_function(operator.getitem, (gathered, 0))
    assert classify(first).role == "collective"


def test_a_buffer_that_only_a_gather_fills_stays_eager_beside_it():
    graph = fx.Graph()
    shard = graph.placeholder("shard")
    buffer = graph.call_function(torch.ops.aten.empty.memory_format, ([4],))
    gathered = graph.call_function(c10d.all_gather_into_tensor_out.default, (shard, 2, "0"), {"out": buffer})
    placement = classify(buffer)
    assert placement.role == "eager" and gathered.name in placement.reason and not placement.full
    graph.call_function(torch.ops.aten.relu.default, (buffer,))
    assert classify(buffer).role == "compute"
