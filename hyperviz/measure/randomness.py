"""Whether two sides draw random numbers of their own from the same distribution."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import torch

from hyperviz.measure.run import Side, Value, run_side

DRAWS = 8
_SAMPLE = 1 << 16


def draw(side: Side, flat: Sequence[object], seeds: Sequence[int], positions: Sequence[int]) -> list[torch.Tensor]:
    """Runs a side once per seed.

    Args:
        side: as in ``run_side``.
        flat: as in ``run_side``.
        seeds: one run each.
        positions: which values of a run to keep; each must hold numbers.

    Returns:
        For each position float64 of shape (seeds, elements): thinned evenly where a value has more than 65,536 elements, and no
        longer than in the run where it is shortest.
    """
    runs = [[_thinned(run.value(at)) for at in positions] for run in (run_side(side, flat, seed) for seed in seeds)]
    return [_stacked(values) for values in zip(*runs, strict=True)]


def is_random(draws: torch.Tensor) -> bool:
    """Whether a value changes with the seed."""
    return bool((draws != draws[0]).any())


def same_distribution(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two equally large groups of draws could have been dealt out at random.

    An exact permutation test (R. A. Fisher, "The Design of Experiments", 1935): the distance between the two groups' means is computed
    for every way to deal the draws into two groups of that size. The answer is no if the true one lies further apart than all others;
    with 8 draws a side, that happens by chance to 1 in 6,435 pairs that are alike. The same is asked of how far each draw lies from
    the mean of all, so another spread is seen as well as another mean, in as far as they stand out from the randomness itself.

    Args:
        first: (draws, elements).
        second: the same shape; independent of ``first``, so made with other seeds.
    """
    draws = _stacked([*first, *second]).nan_to_num().cpu()
    deviations = draws - draws.mean(0)
    deals = _deals(len(first))
    for seen in (deviations, deviations.norm(dim=1, keepdim=True)):
        distances = ((deals @ (seen @ seen.T)) * deals).sum(1)
        if (distances[0] > distances[1:]).all():
            return False
    return True


@functools.cache
def _deals(size: int) -> torch.Tensor:
    """Every way to deal twice ``size`` draws into two groups, one a row of 1 and -1; the first is the order in which they come."""
    partners = torch.tensor(list(itertools.combinations(range(1, 2 * size), size - 1)))  # draw 0 stays: a deal and its mirror are one
    deals = torch.full((len(partners), 2 * size), -1.0, dtype=torch.float64)
    deals[:, 0] = 1.0
    return deals.scatter_(1, partners, 1.0)


def _thinned(value: Value) -> torch.Tensor:
    assert value.data is not None
    return value.data[:: -(-max(1, value.data.numel()) // _SAMPLE)].double()


def _stacked(values: Sequence[torch.Tensor]) -> torch.Tensor:
    shortest = min(map(len, values))
    return torch.stack([value[:shortest] for value in values])
