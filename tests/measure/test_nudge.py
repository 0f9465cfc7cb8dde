"""What is moved, by how much, and what is left exact."""

import torch

from hyperviz.measure.bits import ulps_apart
from hyperviz.measure.nudge import ULPS, Listen, Nudge


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def nudged(program, *inputs, seed=0):
    with Listen() as listen:
        program(*inputs)
    with Nudge(listen.calls, seed):
        return program(*inputs)


def test_listening_changes_nothing_and_writes_down_operators_and_sums():
    x = randn(4, 100)
    with Listen() as listen:
        result = (x.exp().sum(1), x.softmax(1))
    assert torch.equal(result[0], x.exp().sum(1))
    assert torch.equal(result[1], x.softmax(1))
    assert listen.calls == [("aten.exp.default", 1.0), ("aten.sum.dim_IntList", 100.0), ("aten._softmax.default", 100)]


def test_results_move_by_a_few_last_places_and_both_ways():
    x = randn(1000)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        value = x.to(dtype)
        moved = nudged(lambda v: v * 1.7, value)
        steps = ulps_apart(moved, value * 1.7)
        assert steps.max() == ULPS
        assert steps.double().mean() > 0.5
        assert (moved > value * 1.7).any()
        assert (moved < value * 1.7).any()


def test_seeds_move_differently_and_repeatably():
    x = randn(100)
    assert torch.equal(nudged(torch.exp, x, seed=1), nudged(torch.exp, x, seed=1))
    assert not torch.equal(nudged(torch.exp, x, seed=1), nudged(torch.exp, x, seed=2))


def test_exact_numbers_stay_exact():
    whole = torch.tensor([-3.0, 0.0, 1.0, 70000.0])
    assert torch.equal(nudged(lambda v: v + 1, whole), whole + 1)
    mixed = nudged(torch.relu, torch.tensor([-1.5, 0.5, 1.0, float("inf")]))
    assert mixed[[0, 2, 3]].tolist() == [0.0, 1.0, float("inf")]
    assert torch.equal(nudged(lambda v: v > 0.5, torch.tensor([0.25, 0.75])), torch.tensor([False, True]))
    assert nudged(lambda v: v / v, torch.zeros(3)).isnan().all()


def test_large_whole_numbers_of_half_precision_are_rounded_ones():
    value = randn(1000).bfloat16() * 3000
    value[0] = 0.5
    assert not torch.equal(nudged(lambda v: v * 1.5, value), value * 1.5)


def test_long_sums_move_further():
    short, long = randn(1, 4).abs(), randn(1, 1 << 16).abs()
    small = ulps_apart(nudged(lambda v: v.sum(1), short), short.sum(1)).item()
    large = max(ulps_apart(nudged(lambda v: v.sum(1), long, seed=seed), long.sum(1)).item() for seed in range(4))
    assert small <= 3 * ULPS
    assert large > 3 * ULPS


def test_sums_that_cancel_inside_of_an_operator_move():
    x = randn(16, 3, 32, 32)
    mean = torch.zeros(3)

    def statistics(x, running):
        torch.native_batch_norm(x, None, None, running, torch.ones(3), True, 0.1, 1e-5)
        return running.clone()

    exact = statistics(x, mean.clone())
    moved = nudged(lambda x: statistics(x, mean.clone()), x)
    assert (moved - exact).abs().max() > 4 * torch.finfo(torch.float32).eps * exact.abs().max()


def test_writes_and_views_keep_their_meaning():
    def program(x):
        y = x * 1.5
        view = y[:2]
        view.zero_()
        y.t_() if y.dim() == 2 else y.add_(1)
        return y

    moved = nudged(program, randn(6))
    assert moved[:2].tolist() == [1.0, 1.0]


def test_inputs_are_moved_in_place_and_never_where_memory_overlaps():
    x, wide, whole, integers = randn(50), randn(3, 1).expand(3, 4), torch.ones(3), torch.arange(3)
    before = [value.clone() for value in (x, wide, whole, integers)]
    Nudge([], 0).move_inputs([x, wide, whole, integers, None, 3])
    assert 0 < ulps_apart(x, before[0]).max() <= ULPS
    assert all(torch.equal(one, two) for one, two in zip((wide, whole, integers), before[1:], strict=True))


def test_the_program_s_random_numbers_are_not_disturbed():
    def program(x):
        return x.exp(), torch.rand(5)

    torch_state = torch.get_rng_state()
    drawn = program(randn(10))[1]
    torch.set_rng_state(torch_state)
    with Listen() as listen:
        program(randn(10))
    torch.set_rng_state(torch_state)
    with Nudge(listen.calls, 3):
        moved = program(randn(10))[1]
    assert ulps_apart(moved, drawn).max() <= ULPS


def test_another_path_than_the_one_listened_to_is_moved_all_the_same():
    x = randn(100)
    with Nudge([("aten.sum.default", 1e6)], 0):
        moved = x.exp()
    assert 0 < ulps_apart(moved, x.exp()).max() <= ULPS
