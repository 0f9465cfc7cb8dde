"""How far rounding alone carries a program's outputs: what a difference has to be held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from hyperviz.measure.difference import Difference, measure_difference
from hyperviz.measure.nudge import Listen, Nudge
from hyperviz.measure.run import Run, Side, Value, run_side

RUNS = 4
_JUMPS = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "sign", "sgn", "heaviside", "threshold", "threshold_backward", "max_pool2d_with_indices"}
    | {"floor", "ceil", "round", "trunc", "frac", "floor_divide", "remainder", "fmod", "bucketize", "searchsorted"}
    | {"argmax", "argmin", "topk", "sort", "argsort", "kthvalue", "median", "mode", "nonzero"}
)


@dataclass(frozen=True, slots=True)
class Noise:
    """What rounding does to one side of a comparison.

    Attributes:
        max_abs: position of a value → the furthest that one of its elements moved in any run; nothing for a value that moves as far
            when nothing is nudged.
        rms: for the same positions, the largest root mean square of the moves in any run.
        jumps: the operators of the program that turn rounding into jumps, as in ``"floor"``, in the order in which they ran first.
        repeatable: whether the program does the same twice with the same seed.
    """

    max_abs: Mapping[int, float]
    rms: Mapping[int, float]
    jumps: tuple[str, ...]
    repeatable: bool


def measure_noise(side: Side, flat: Sequence[object], seed: int, base: Run, positions: Sequence[int]) -> Noise:
    """Runs a side once as it is and ``RUNS`` times nudged (see ``Nudge``), and holds each run against ``base``.

    Args:
        side: as in ``run_side``.
        flat: as in ``run_side``.
        seed: that ``base`` was run with.
        base: the run to measure from.
        positions: which values of ``base`` to look at; each must hold numbers.
    """
    listen = Listen()
    repeated = _moves(base, run_side(side, flat, seed, mode=listen), positions)
    trusted = [position for position in positions if position in repeated and _is_steady(base.value(position), repeated[position])]
    max_abs, rms = dict.fromkeys(trusted, 0.0), dict.fromkeys(trusted, 0.0)
    for i in range(RUNS):
        nudge = Nudge(listen.calls, seed=i)
        for position, move in _moves(base, run_side(side, flat, seed, nudge, nudge.move_inputs), trusted).items():
            max_abs[position] = max(max_abs[position], move.max_abs)
            rms[position] = max(rms[position], move.rms)
    names = [name.split(".")[1].rstrip("_") for name, _ in listen.calls if "." in name]
    jumps = tuple(dict.fromkeys(name for name in names if name in _JUMPS))
    return Noise(max_abs, rms, jumps, repeatable=not any(move.mismatched for move in repeated.values()))


def _moves(base: Run, run: Run, positions: Sequence[int]) -> dict[int, Difference]:
    """Position → how far a value moved; nothing for one that came out in another size."""
    moves = {}
    for position in positions:
        before, after = base.value(position).data, run.value(position).data
        if before is not None and after is not None and before.shape == after.shape:
            moves[position] = measure_difference(before, after)
    return moves


def _is_steady(value: Value, move: Difference) -> bool:
    """Whether a value is the same when it is computed again, but for what atomic additions in any order do: half of its digits."""
    assert value.data is not None
    allowed = torch.finfo(value.data.dtype).eps ** 0.5 * move.scale if value.data.is_floating_point() else 0.0
    return move.max_abs <= allowed
