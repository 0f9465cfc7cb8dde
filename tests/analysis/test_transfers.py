"""Transfers to and from host memory: what they free, when, and how long compute stands still for them."""

from __future__ import annotations

import pytest
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from hyperviz.analysis import estimate_timeline, hardware_named, schedule_of

pytest.importorskip("torch._functorch._activation_offloading.offload_ops", reason="torch 2.13 and later have the operators")
aten, ao = torch.ops.aten, torch.ops.ao
MB = 2**20


@pytest.fixture
def away_and_back():
    """A value of 4 MB that is made, copied out, freed, copied back and read; with a number of names."""
    graph, mode = fx.Graph(), FakeTensorMode()

    def call(target, *args):
        node = graph.call_function(target, args)
        values = fx.node.map_arg(args, lambda argument: argument.meta["val"])
        with mode:
            node.meta["val"] = target(*values)
        return node

    x = graph.placeholder("x")
    with mode:
        x.meta["val"] = torch.empty(MB)
    value = call(aten.add.Tensor, x, x)
    out = call(ao.offload.default, value)
    first = call(aten.relu.default, x)
    gone = call(ao.wait_tensor.default, out, value)
    second = call(aten.neg.default, first)
    back = call(ao.reload.default, gone, torch.device("cpu"))
    third = call(aten.sin.default, second)
    here = call(ao.wait_tensor.default, back, gone)
    last = call(aten.mul.Tensor, here, third)
    graph.output(last)
    names = {"value": value, "out": out, "gone": gone, "second": second, "back": back, "third": third, "here": here, "last": last}
    return fx.GraphModule({}, graph), {key: node.name for key, node in names.items()}


def test_memory_is_given_back_at_the_wait_and_host_memory_does_not_count(away_and_back):
    graph_module, names = away_and_back
    live = {step.name: (step.live_bytes or 0) // MB for step in schedule_of(graph_module).steps}
    assert live[names["out"]] == 4
    assert live[names["gone"]] == 8  # value and first, before the value goes
    assert live[names["second"]] == 8  # first and second, without the value
    assert live[names["back"]] == 8  # second and what comes back
    assert live[names["last"]] == 12


def test_transfers_are_launches_on_one_lane_and_wait_like_collectives(away_and_back):
    graph_module, names = away_and_back
    schedule = schedule_of(graph_module)
    assert [(one.kind, one.launch, one.waits, one.payload_bytes) for one in schedule.collectives] == [
        ("offload", names["out"], (names["gone"],), 4 * MB),
        ("reload", names["back"], (names["here"],), 4 * MB),
    ]
    timeline = estimate_timeline(schedule, hardware_named("h100"))
    assert timeline.lanes == ("compute", "host memory")
    rate = 32 * 16 * 128 / 130 / 8 * 1e6  # PCI Express 5.0, 16 lanes, in bytes per millisecond
    assert [one.duration_ms for one in timeline.collectives] == [pytest.approx(4 * MB / rate)] * 2
    assert timeline.total_ms == pytest.approx(timeline.compute_ms + timeline.exposed_ms) and timeline.exposed_ms > 0


def test_without_figures_for_the_hosts_link_it_is_unknown(away_and_back):
    timeline = estimate_timeline(schedule_of(away_and_back[0]), hardware_named("h100").__class__("x", "X", {}, 1.0))
    assert timeline.exposed_ms is None and "no figures are known for the link of X to its host" in timeline.notes[-1]
