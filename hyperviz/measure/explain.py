"""What lies behind a difference between two sides: rounding, random numbers of their own, or a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from hyperviz.measure.judge import Opinion, on_noise, on_randomness, too_far
from hyperviz.measure.pairs import Pair, Places
from hyperviz.measure.randomness import DRAWS, draw, is_random, same_distribution
from hyperviz.measure.rounding import Noise, measure_noise
from hyperviz.measure.run import Run, Side
from hyperviz.measure.together import any_rank


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a comparison and how to run them.

    Attributes:
        first: the reference.
        second: what is held against it.
        flat: the inputs of both.
        seed: that both were run with.
        labels: what they are called.
        together: whether all ranks run them, and so as often as each other.
    """

    first: Side
    second: Side
    flat: Sequence[object]
    seed: int
    labels: tuple[str, str]
    together: bool = False


def explain(sides: Sides, base: Run, pairs: Sequence[Pair]) -> tuple[Mapping[Places, Opinion | None], list[str]]:
    """Runs the sides again, until each difference is explained or known to be a fault.

    Args:
        sides: what to run.
        base: the first side's run that the pairs were made from.
        pairs: with numbers that differ by more than the two runs can explain.

    Returns:
        The places of every pair → its verdict, and notes on the comparison as a whole.
    """
    noise, notes = _noise(sides, base, [pair.places[0] for pair in pairs])
    opinions = {pair.places: on_noise(pair, noise, sides.labels) for pair in pairs}
    far = [pair for pair in pairs if opinions[pair.places] is None]
    random = _randomness(sides, far) if any_rank(bool(far), sides.together) else {}
    for pair in far:
        opinions[pair.places] = on_randomness(*random[pair.places], sides.labels) or too_far(pair, noise, sides.labels)
    return opinions, notes


def _noise(sides: Sides, base: Run, positions: Sequence[int]) -> tuple[Noise | None, list[str]]:
    """What rounding does to the first side; None, and a note, for a program that a dispatch mode or a nudge stops."""
    label = sides.labels[0]
    try:
        noise = measure_noise(sides.first, sides.flat, sides.seed, base, positions)
    except Exception as error:  # whatever it raises, the comparison has its two runs and goes on
        return None, [f"what rounding does to {label} could not be measured: {type(error).__name__}: {error}"]
    return noise, [] if noise.repeatable else [f"{label} does not repeat itself when it runs twice with seed {sides.seed}"]


def _randomness(sides: Sides, pairs: Sequence[Pair]) -> dict[Places, tuple[bool, bool, bool]]:
    """Places → whether the first side changes with the seed, whether the second does, and whether their draws are alike."""
    pilot = range(sides.seed, sides.seed + 2)
    random = {places: (is_random(one), is_random(two)) for places, one, two in _draws(sides, pairs, pilot, pilot)}
    both = [pair for pair in pairs if all(random[pair.places])]
    seeds = range(sides.seed, sides.seed + DRAWS), range(sides.seed + DRAWS, sides.seed + 2 * DRAWS)
    drawn = any_rank(bool(both), sides.together)
    alike = {places: same_distribution(one, two) for places, one, two in _draws(sides, both, *seeds)} if drawn else {}
    return {places: (*changes, alike.get(places, False)) for places, changes in random.items()}


def _draws(sides: Sides, pairs: Sequence[Pair], *seeds: Sequence[int]) -> Iterator[tuple[Places, torch.Tensor, torch.Tensor]]:
    """The places of each pair with its values on both sides, one per seed."""
    ones = draw(sides.first, sides.flat, seeds[0], [pair.places[0] for pair in pairs])
    twos = draw(sides.second, sides.flat, seeds[1], [pair.places[1] for pair in pairs])
    return zip((pair.places for pair in pairs), ones, twos, strict=True)
