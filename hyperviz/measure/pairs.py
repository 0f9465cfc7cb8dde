"""What the two runs of a comparison have to be held against each other: outputs by place, and inputs that either run wrote to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from hyperviz.measure.difference import Difference, measure_difference
from hyperviz.measure.run import Run, Value

Places = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """One value on both sides.

    Attributes:
        name: what it is called.
        first: the value on the first side; None where that side does not return it.
        second: the same for the second side.
        places: where each side's run holds it; see ``Run.value``.
        difference: of their numbers; None where there are none, or not as many.
        only_written_by: the side that alone wrote to this input, 0 or 1; None for an output, and for an input that both wrote to.
    """

    name: str
    first: Value | None
    second: Value | None
    places: Places
    difference: Difference | None
    only_written_by: int | None = None


def pair_up(one: Run, two: Run, names: Sequence[str], input_names: Sequence[str], nan: str, zeros: str) -> list[Pair]:
    """Outputs in the order in which they are returned, then the inputs that a run wrote to, as they are after the run."""

    def pair(name: str, first: Value | None, second: Value | None, places: Places, alone: int | None = None) -> Pair:
        return Pair(name, first, second, places, _difference(first, second, nan, zeros), alone)

    pairs = [pair(names[i], *values, (i, i)) for i, values in enumerate(zip_longest(one.outputs, two.outputs))]
    for i, written in enumerate(zip(one.inputs, two.inputs, strict=True)):
        if any(written):
            places = len(one.outputs) + i, len(two.outputs) + i
            alone = None if all(written) else written.index(None) ^ 1
            pairs.append(pair(f"{input_names[i]} after the run", one.value(places[0]), two.value(places[1]), places, alone))
    return pairs


def _difference(first: Value | None, second: Value | None, nan: str, zeros: str) -> Difference | None:
    one, two = first and first.data, second and second.data
    if first is None or second is None or one is None or two is None:
        return None
    if any(first.facts.get(fact) != second.facts.get(fact) for fact in ("type", "dtype", "shape")):
        return None
    return measure_difference(one, two, nan, zeros)
