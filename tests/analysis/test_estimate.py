"""Estimates: figures with sources, formulas worked out by hand, and "unknown" where there is nothing to work with."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from hyperviz.analysis import Hardware, collective_ms, hardware_named, step_ms
from hyperviz.analysis.estimate import explain_collective
from hyperviz.analysis.hardware import HARDWARE, NAMES
from hyperviz.analysis.networks import NETWORKS, Network, Protocol
from hyperviz.snapshot import Collective, Kernel, Step

# Round figures: 1 GB/ms inside, 0.1 GB/ms between, one protocol of 1 µs and 2 or 20 µs a hop.
INSIDE = Network(8000, "", (Protocol(1, 2),))
BETWEEN = Network(800, "", (Protocol(1, 20),))
ROUND = Hardware("round", "Round", {"float32": 1.0}, 1000.0, 1.0, 4, INSIDE, BETWEEN)
GB = 10**9


def takes(kind, n, ranks=None, payload=GB):
    return collective_ms(Collective("launch", (), kind, "g", n, payload), ROUND, ranks)


@pytest.mark.parametrize(
    ("kind", "latency_us", "gigabytes"),
    [
        ("all_gather", 1 + 3 * 2, 3 / 4),
        ("reduce_scatter", 1 + 3 * 2, 3 / 4),
        ("all_to_all", 1 + 3 * 2, 3 / 4),
        ("gather", 1 + 3 * 2, 3 / 4),
        ("all_reduce", 1 + 6 * 2, 6 / 4),
        ("broadcast", 1 + 3 * 2, 1),
        ("reduce", 1 + 3 * 2, 1),
        ("send", 1 + 2, 1),
        ("recv", 1 + 2, 1),
    ],
)
def test_a_ring_inside_a_node(kind, latency_us, gigabytes):
    assert takes(kind, 4) == pytest.approx(latency_us / 1e3 + gigabytes)


def test_a_ring_over_two_nodes_crosses_once_and_uses_every_port_of_the_group():
    # 8 ranks, 4 on each node: 7 steps, one of them between nodes; 4 ports of 0.1 GB/ms.
    assert takes("all_gather", 8) == pytest.approx((1 + 6 * 2 + 20) / 1e3 + 7 / 8 / 0.4)
    assert takes("all_reduce", 8) == pytest.approx((1 + 12 * 2 + 2 * 20) / 1e3 + 14 / 8 / 0.4)
    assert takes("send", 8) == pytest.approx((1 + 20) / 1e3 + 1 / 0.1)


def test_a_group_with_one_rank_on_each_node_has_one_port_and_crosses_every_time():
    assert takes("all_gather", 2, ranks=(0, 4)) == pytest.approx((1 + 20) / 1e3 + 1 / 2 / 0.1)
    assert takes("all_gather", 2, ranks=(1, 2)) == pytest.approx((1 + 2) / 1e3 + 1 / 2)


def test_a_group_of_one_rank_copies():
    assert takes("all_gather", 1) == pytest.approx(2 * GB / 1e9 + 1e-3)


def test_small_messages_take_the_protocol_that_is_faster():
    one = Collective("launch", (), "all_gather", "g", 8, 800)
    h100 = hardware_named("h100")
    assert collective_ms(one, h100) == pytest.approx((6.6 + 7 * 0.6) / 1e3 + 700 / (450e6 / 4))
    large = dataclasses.replace(one, payload_bytes=GB)
    assert collective_ms(large, h100) == pytest.approx((8.4 + 7 * 3.4) / 1e3 + 7 / 8 * GB / 450e6)


def test_what_cannot_be_estimated_is_none_and_says_why():
    known = Collective("launch", (), "all_reduce", "gone", 4, GB)
    cases = [
        (dataclasses.replace(known, payload_bytes=None), ROUND, "the size of launch is not known"),
        (dataclasses.replace(known, num_ranks=None), ROUND, "how many ranks are in group 'gone' of launch is not known"),
        (known, dataclasses.replace(ROUND, inside=None), "no figures are known for the link between ranks on Round"),
    ]
    for one, hardware, why in cases:
        assert explain_collective(one, hardware) == (None, why)


def test_work_takes_the_longer_of_operations_and_bytes_and_the_gap():
    def ms(*kernels):
        return step_ms(Step("x", "compute", work=kernels), ROUND)

    assert ms(Kernel({"float32": 10**9}, 1000)) == pytest.approx(1 + 1e-3)
    assert ms(Kernel({"float32": 1000}, 10**9)) == pytest.approx(1 + 1e-3)
    assert ms(Kernel({}, 10**9), Kernel({"float32": 10**9}, 0)) == pytest.approx(2 + 2e-3)
    assert ms() == 0
    for unknown in (Kernel({"float32": None}, 1), Kernel({}, None), Kernel({"int4": 5}, 1)):
        assert ms(Kernel({}, 1), unknown) is None


@pytest.mark.parametrize("name", HARDWARE)
def test_named_hardware_has_a_source_for_every_figure(name):
    hardware = hardware_named(name.upper())
    assert hardware.name == name and not hardware.measured
    assert {"tflops", "memory_gbs", "launch_us", "num_per_node"} == set(hardware.sources) and all(hardware.sources.values())
    for network in (hardware.inside, hardware.between):
        assert network in NETWORKS.values() and network.source


def test_figures_agree_with_torchs_own_table():
    table = pytest.importorskip("torch._inductor.analysis.device_info")._device_mapping
    for name, theirs in (("h100", "NVIDIA H100"), ("a100", "NVIDIA A100"), ("mi300x", "AMD MI300X")):
        ours, info = hardware_named(name), table[theirs]
        assert ours.memory_gbs == info.dram_bw_gbs
        dense = info.tops[torch.bfloat16] / getattr(info, "tops_sparsity_factor", 1)
        assert ours.tflops["bfloat16"] == pytest.approx(dense, rel=0.01)
        assert ours.tflops["float32"] == pytest.approx(info.tops[torch.float32], rel=0.01)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=f"hardware must be one of {', '.join(NAMES)}, .*, got 'h1000'; did you mean 'h100'?"):
        hardware_named("h1000")
    with pytest.raises(ValueError, match="got 7$"):
        hardware_named(7)
