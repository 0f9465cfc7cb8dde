"""Draws of two sides: alike, shifted, spread, and what cannot be told."""

import torch

from hyperviz.measure.randomness import draw, is_random, same_distribution


def draws(seed, shift=0.0, spread=1.0, elements=500):
    return torch.randn(8, elements, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * spread + shift


def test_draws_of_one_distribution_are_alike():
    verdicts = [same_distribution(draws(2 * i), draws(2 * i + 1)) for i in range(40)]
    assert all(verdicts)


def test_another_mean_and_another_spread_are_seen():
    assert not same_distribution(draws(0), draws(1, shift=0.5))
    assert not same_distribution(draws(0), draws(1, spread=1.3))
    assert not same_distribution(draws(0, elements=1), draws(1, shift=5, elements=1))


def test_what_drowns_in_the_randomness_is_not_seen():
    assert same_distribution(draws(0, elements=1), draws(1, shift=0.01, elements=1))


def test_nan_and_constants_are_no_trouble():
    constant = torch.ones(8, 3, dtype=torch.float64)
    assert same_distribution(constant, constant)
    assert not same_distribution(constant, constant + 1)
    assert same_distribution(constant * float("nan"), constant * float("nan"))


def test_drawing_runs_once_per_seed_and_keeps_what_was_asked():
    def program(x):
        x.add_(1)
        return x * 2, torch.rand(100_000)

    state = torch.get_rng_state()
    random, written = draw(program, [torch.zeros(2)], range(3), [1, 2])
    torch.set_rng_state(state)
    assert random.shape[0] == 3
    assert random.shape[1] <= 65_536
    assert is_random(random)
    assert written.tolist() == [[1.0, 1.0]] * 3
    assert not is_random(written)
