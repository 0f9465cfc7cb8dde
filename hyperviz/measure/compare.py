"""Whether two callables compute the same, and if not, what kind of difference it is."""

from __future__ import annotations

from collections.abc import Sequence

from hyperviz.measure.explain import Sides, explain
from hyperviz.measure.judge import conclude, on_numbers, worst
from hyperviz.measure.pairs import pair_up
from hyperviz.measure.run import Run, Side, kept_random_state, run_side
from hyperviz.measure.together import any_rank
from hyperviz.snapshot import Equality

_CHOICES = ("bits", "equal")


def compare(
    first: Side,
    second: Side,
    flat: Sequence[object],
    *,
    labels: tuple[str, str] = ("eager", "compiled"),
    output_names: Sequence[str] | None = None,
    input_names: Sequence[str] | None = None,
    seed: int = 0,
    nan: str = "bits",
    zeros: str = "bits",
    together: bool = False,
) -> Equality:
    """Runs both sides on copies of the same inputs, with the same seed, and says for each output how they relate.

    Compared are the outputs, by place, and every input that either side wrote to, as it is after the run. Both sides run under
    ``no_grad`` with autocast off; the inputs given are never written to, and torch's random state is handed back. Where both sides
    agree, each runs once; a difference that calls for an explanation costs the first side at most 15 more runs and the second 10.

    The verdicts, from good to bad; ``Equality.verdict`` is the worst:

    - ``"bitwise"``: every bit is the same, under the choices ``nan`` and ``zeros``.
    - ``"rounding"``: floats that differ as honest implementations do. Either every element is within 4 units in the last place, which
      is what vendors' math libraries allow themselves in a single function (SLEEF: 1 to 3.5; CUDA: 1 to 4). Or the first side differs
      as much from itself when the result of each of its operators is moved by up to 2 units in the last place of that result, which
      is what a fused, reordered or otherwise rounded program does (see ``Nudge``): over 4 such runs neither the furthest element nor
      the root mean square over the tensor may be exceeded more than 4 times. So the bound knows the program's dtypes, its
      cancellations and its discontinuities; a fixed tolerance would call noise around zero wrong or a small real fault rounding.
      Measured with torch 2.13 on a CPU: training steps of GPT-2, BERT, Llama, a GPT and a CNN, in float32, bfloat16 and autocast,
      compiled, came to 0.01 to 2.4 times those runs, single operators to 2.1; Inductor's known miscompiles to 50 times in bfloat16
      and a million times in float32. An integer or a bool differs by rounding only in this second sense, and the reason names the
      discontinuous operators that amplify it.
    - ``"random"``: both sides draw random numbers of their own, by design: each changes with the seed, and 8 draws of each, with seeds
      of their own, are not further apart than every other way to deal the 16 into two groups (``same_distribution``). What is smaller
      than the randomness around it cannot be seen from outside; for an exact comparison compile with ``fallback_random=True``.
    - ``"structural"``: dtype, shape, stride, device, type, nesting or the number of outputs differ. The numbers are compared all the
      same where there are as many on both sides, and a worse verdict on them wins.
    - ``"wrong"``: anything else, and always a NaN or an infinity on one side only.

    Args:
        first: the reference, called as ``first(*flat)``; best a program whose operators torch sees one by one, that is eager.
        second: what is held against it.
        flat: the inputs, one per placeholder; tensors are cloned, with the aliasing and the strides that they have.
        labels: what to call the two sides in the reasons.
        output_names: one name per output, in the order in which a flattened result has them; by default from where each stands.
        input_names: one name per input, for those that a side writes to; by default ``"input 0"`` and so on.
        seed: for torch's generators before every run.
        nan: ``"bits"``: NaNs are equal if all their bits are. ``"equal"``: any NaN equals any other.
        zeros: ``"bits"``: 0.0 and -0.0 differ. ``"equal"``: they do not.
        together: whether every rank of the process group makes this comparison, of sides that communicate: then a side runs on each
            rank as often as on the one that needs it most.

    Returns:
        One entry per output, then one per written input; a complex number counts as two elements.

    Raises:
        ValueError: a side cannot be called or returns nothing that could be compared, ``flat`` is no list or tuple, there are not as
            many names as outputs or inputs, or a choice is unknown.
    """
    _check(first, second, flat, labels, nan, zeros)
    sides = Sides(first, second, flat, seed, labels, together)
    with kept_random_state():
        one, two = run_side(first, flat, seed), run_side(second, flat, seed)
        inputs = _checked_names("input", input_names or [f"input {i}" for i in range(len(flat))], len(flat))
        pairs = pair_up(one, two, _output_names(one, two, output_names), inputs, nan, zeros)
        opinions = {pair.places: on_numbers(pair, labels) for pair in pairs}
        unexplained = [pair for pair in pairs if pair.difference and not opinions[pair.places]]
        explained, notes = explain(sides, one, unexplained) if any_rank(bool(unexplained), together) else ({}, [])
    outputs = tuple(conclude(pair, opinions[pair.places] or explained.get(pair.places), labels) for pair in pairs)
    shape = _nesting(one, two, labels)
    verdict = worst([output.verdict for output in outputs] + ["structural"] * len(shape))
    return Equality(verdict, outputs, labels, seed, nan, zeros, (*shape, *notes))


def _nesting(one: Run, two: Run, labels: tuple[str, str]) -> list[str]:
    """What is to be said where the sides return different numbers of outputs, or nest them differently."""
    counts = len(one.outputs), len(two.outputs)
    if counts[0] != counts[1]:
        return [f"{labels[0]} returns {counts[0]} outputs, {labels[1]} {counts[1]}: compared by place, as far as both go"]
    if one.structure != two.structure:
        return [f"the outputs are nested differently: {labels[0]} returns a {one.container}, {labels[1]} a {two.container}"]
    return []


def _output_names(one: Run, two: Run, given: Sequence[str] | None) -> list[str]:
    counts = len(one.outputs), len(two.outputs)
    if not all(counts) and (any(counts) or not any((*one.inputs, *two.inputs))):
        raise ValueError(f"both sides must return something that can be compared, got {counts[0]} and {counts[1]} outputs")
    longest = max(one.names, two.names, key=len)
    if given is None:
        return list(longest)
    return [*_checked_names("output", given, *counts), *longest[len(given) :]]


def _checked_names(what: str, names: Sequence[str], *counts: int) -> list[str]:
    if len(names) not in counts:
        raise ValueError(f"{what}_names must hold one name for each of the {counts[0]} {what}s, got {len(names)}")
    return list(names)


def _check(first: object, second: object, flat: object, labels: tuple[str, str], nan: str, zeros: str) -> None:
    for label, side in zip(labels, (first, second), strict=True):
        if not callable(side):
            raise ValueError(f"{label} must be callable as f(*flat), got {type(side).__name__}")
    if not isinstance(flat, (list, tuple)):
        raise ValueError(f"flat must be a list or tuple with one value per input, got {type(flat).__name__}")
    for name, choice in (("nan", nan), ("zeros", zeros)):
        if choice not in _CHOICES:
            raise ValueError(f"{name} must be 'bits' or 'equal', got {choice!r}")
