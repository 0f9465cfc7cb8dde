"""A link delays and changes nothing else: its arithmetic here, its effect on four real gloo ranks."""

import pytest
import rank_work
import torch

from hyperviz.distributed import Link, current_link, current_rank, launch, wire

SLOW = Link(latency_us=20_000, gbps=0.01)


@pytest.fixture(scope="module")
def ranks():
    """What four ranks found over a slow link."""
    return launch(rank_work.over_a_link, num_ranks=4, link=SLOW)


def test_results_are_the_same_bits_as_on_the_bare_group(ranks):
    for found in ranks:
        assert {name for name, (_, _, same) in found["ops"].items() if not same} == set()


def test_no_collective_completes_sooner_than_the_link_allows(ranks):
    for found in ranks:
        assert {name: (took, least) for name, (took, least, _) in found["ops"].items() if took < least} == {}


def test_collectives_queue_up_in_order(ranks):
    least = SLOW.seconds(2 * 3 / 4 * 4000)
    for found in ranks:
        assert [value for value, _ in found["queue"]["done"]] == [4.0 * i for i in range(5)]
        assert all(at >= least * (i + 1) for i, (_, at) in enumerate(found["queue"]["done"]))


def test_launching_does_not_wait(ranks):
    """Launches that waited could not all be over before the last collective is complete."""
    for found in ranks:
        assert found["queue"]["early"] is False
        assert found["queue"]["launched"] < found["queue"]["done"][-1][1]


def test_work_between_launch_and_wait_is_not_added(ranks):
    """Once the deadline has passed the collective is complete, without anybody having waited for it."""
    assert all(found["queue"]["late"] for found in ranks)


def test_waiting_takes_no_core(ranks):
    for found in ranks:
        assert found["queue"]["cpu"] < found["queue"]["wall"]


def test_a_part_of_the_world_has_a_link_too(ranks):
    for found in ranks[:2]:
        value, took = found["part"]
        assert value == 2.0 and took >= SLOW.seconds(4000)
    assert [found["part"] for found in ranks[2:]] == [None, None]


def test_data_parallelism_runs_over_it(ranks):
    assert all(torch.equal(found["ddp"], torch.full((3, 3), 3.0)) for found in ranks)


def test_a_rank_can_say_that_it_is_simulated(ranks):
    for found in ranks:
        assert found["link"] == found["here"].link == SLOW
        assert str(found["link"]) == "simulated link: 20000 µs, 0.01 Gb/s"
        assert (found["here"].num_ranks, found["here"].backend) == (4, "gloo")
    assert current_link() is None and current_rank() is None


def test_thirty_gathers_in_flight_fifty_times():
    assert launch(rank_work.many_gathers, args=(50,), link=Link(latency_us=10, gbps=1000)) == [50, 50]


def test_time_on_a_link():
    assert Link(latency_us=50, gbps=100).seconds(1_250_000) == pytest.approx(150e-6)
    assert Link(latency_us=0, gbps=8).seconds(0) == 0


@pytest.mark.parametrize(
    ("method", "arguments", "expected"),
    [
        ("allreduce", ([torch.ones(8)],), 48),
        ("allreduce_coalesced", ([torch.ones(8), torch.ones(8)],), 96),
        ("all_gather_single", (torch.ones(8), torch.ones(2)), 24),
        ("allgather", ([[torch.ones(2)] * 4], [torch.ones(2)]), 24),
        ("reduce_scatter_single", (torch.ones(2), torch.ones(8)), 24),
        ("alltoall_base", (torch.ones(8), torch.ones(8), [], []), 24),
        ("gather", ([[]], [torch.ones(2)]), 24),
        ("scatter", ([torch.ones(2)], [[]]), 24),
        ("broadcast", ([torch.ones(8, dtype=torch.bfloat16)],), 16),
        ("send", ([torch.ones(8)], 1, 0), 32),
        ("barrier", (), 0),
    ],
)
def test_bytes_on_the_wire_of_four_ranks(method, arguments, expected):
    assert wire.bytes_on_wire(method, arguments, num_ranks=4) == expected


def test_named_networks():
    nvlink = Link.named("nvlink4")
    assert nvlink == Link(nvlink.latency_us, 3600) and "H100" in nvlink.source
    assert str(Link.named("ethernet-100g")) == "simulated link ethernet-100g: 22.4 µs, 100 Gb/s"
    with pytest.raises(ValueError, match="got 'nvlink-4'; did you mean 'nvlink4'"):
        Link.named("nvlink-4")


@pytest.mark.parametrize("wrong", [{"latency_us": -1}, {"gbps": 0}, {"gbps": float("inf")}, {"latency_us": True}, {"gbps": "100"}])
def test_a_link_has_possible_figures(wrong):
    with pytest.raises(ValueError, match=rf"{next(iter(wrong))} must be a number of .* {next(iter(wrong.values()))}|'100'"):
        Link(**wrong)
