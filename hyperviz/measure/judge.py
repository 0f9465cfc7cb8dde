"""From how far two values are apart, and what explains it, to a verdict with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hyperviz.measure.difference import Difference
from hyperviz.measure.pairs import Pair
from hyperviz.measure.randomness import DRAWS
from hyperviz.measure.rounding import Noise
from hyperviz.snapshot import OutputEquality
from hyperviz.snapshot.equality import VERDICTS

CLOSE_ULPS = 4
FACTOR = 4


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verdict, one of ``hyperviz.snapshot.VERDICTS``, and the sentence that says why."""

    verdict: str
    reason: str = ""


def worst(verdicts: list[str]) -> str:
    """The last of the given verdicts in the order of ``VERDICTS``; ``"bitwise"`` for none."""
    return max(verdicts, key=VERDICTS.index, default=VERDICTS[0])


def on_numbers(pair: Pair, labels: tuple[str, str]) -> Opinion | None:
    """The verdict on a pair's numbers as far as the two runs alone decide it; None where the difference has to be explained."""
    difference = pair.difference
    if difference is None:
        return _on_plain_values(pair)
    if not difference.mismatched:
        return Opinion("bitwise")
    if difference.num_nan:
        return Opinion("wrong", f"{_count(difference.num_nan, difference)} NaN on one side only")
    if difference.num_infinite:
        return Opinion("wrong", f"{_count(difference.num_infinite, difference)} infinite on one side only")
    if difference.max_ulp == 0:
        return Opinion("rounding", "the same numbers: only the bits of NaNs or the signs of zeros differ")
    if difference.max_ulp is not None and difference.max_ulp <= CLOSE_ULPS:
        return Opinion("rounding", f"every element is within {CLOSE_ULPS} units in the last place")
    if pair.only_written_by is not None:
        return Opinion("wrong", f"only {labels[pair.only_written_by]} writes to this input")
    return None


def on_noise(pair: Pair, noise: Noise | None, labels: tuple[str, str]) -> Opinion | None:
    """``"rounding"`` where a side moves as far by itself; None where it does not, or is not known to."""
    difference = pair.difference
    if noise is None or difference is None or pair.places[0] not in noise.max_abs:
        return None
    furthest, rms = noise.max_abs[pair.places[0]], noise.rms[pair.places[0]]
    if difference.max_abs > FACTOR * furthest or difference.rms > FACTOR * rms:
        return None
    reason = f"differs by up to {difference.max_abs:.2g}; {_moves(labels[0], furthest)}"
    if noise.jumps and _is_jump(pair, difference):
        reason += f"; a discontinuous operator amplifies rounding into a jump ({', '.join(noise.jumps)})"
    return Opinion("rounding", reason)


def on_randomness(first: bool, second: bool, alike: bool, labels: tuple[str, str]) -> Opinion | None:
    """The verdict on a value that changes with the seed on a side; None for one that changes on neither."""
    if first != second:
        return Opinion("wrong", f"only {labels[0 if first else 1]} changes with the seed")
    if first and not alike:
        return Opinion("wrong", f"both sides are random, but {DRAWS} draws of each lie further apart than chance explains")
    return Opinion("random", f"both sides draw their own random numbers; {DRAWS} draws of each cannot be told apart") if first else None


def too_far(pair: Pair, noise: Noise | None, labels: tuple[str, str]) -> Opinion:
    """``"wrong"``, for a difference that nothing explains."""
    assert pair.difference is not None
    reason = f"differs by up to {pair.difference.max_abs:.2g} in {_count(pair.difference.mismatched, pair.difference)} elements"
    furthest = noise and noise.max_abs.get(pair.places[0])
    return Opinion("wrong", reason if furthest is None else f"{reason}; {_moves(labels[0], furthest)}")


def conclude(pair: Pair, opinion: Opinion | None, labels: tuple[str, str]) -> OutputEquality:
    """One row of the result: the worse of the verdict on the numbers and of that on everything else."""
    opinions = [opinion for opinion in (_on_facts(pair, labels), opinion) if opinion is not None]
    difference = pair.difference
    return OutputEquality(
        name=pair.name,
        verdict=worst([opinion.verdict for opinion in opinions]),
        reason="; ".join(opinion.reason for opinion in opinions if opinion.reason),
        total=difference.total if difference else 0,
        mismatched=difference.mismatched if difference else 0,
        max_ulp=difference.max_ulp if difference else None,
        max_abs=difference.max_abs if difference else None,
        max_rel=difference.max_rel if difference else None,
        first="not returned" if pair.first is None else str(pair.first),
        second="not returned" if pair.second is None else str(pair.second),
    )


def _on_facts(pair: Pair, labels: tuple[str, str]) -> Opinion | None:
    """``"structural"`` where something apart from the numbers differs."""
    if pair.first is None or pair.second is None:
        return Opinion("structural", f"only {labels[0 if pair.second is None else 1]} returns it")
    keys = dict.fromkeys((*pair.first.facts, *pair.second.facts))
    different = [key for key in keys if pair.first.facts.get(key) != pair.second.facts.get(key)]
    if not different:
        return None
    return Opinion("structural", f"not the same {' and '.join(different)}: {pair.first} against {pair.second}")


def _on_plain_values(pair: Pair) -> Opinion | None:
    """The verdict on values that are no tensors of one shape: the facts say the rest."""
    if pair.first is None or pair.second is None or pair.first.facts != pair.second.facts or "dtype" in pair.first.facts:
        return None
    one, two = pair.first.plain, pair.second.plain
    if one is not two and type(one).__eq__ is object.__eq__:  # None is itself: in Python 3.11 its type has no __eq__ of its own
        return Opinion("structural", f"two objects of type {type(one).__name__} cannot be compared")
    return Opinion("bitwise") if bool(one == two) else Opinion("wrong", f"{one!r} against {two!r}")


def _is_jump(pair: Pair, difference: Difference) -> bool:
    """Whether a difference is no rounding of the output itself: whole numbers apart, or a thousand roundings of its largest number."""
    assert pair.first is not None and pair.first.data is not None
    return difference.max_ulp is None or difference.max_abs > 1000 * torch.finfo(pair.first.data.dtype).eps * difference.scale


def _count(part: int, difference: Difference) -> str:
    return f"{part:,} of {difference.total:,}"


def _moves(label: str, furthest: float) -> str:
    return f"rounding alone moves {label} by up to {furthest:.2g}"
