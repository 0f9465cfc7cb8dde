"""How far rounding alone carries a program's outputs: what a difference has to be held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from hyperviz.measure.difference import measure_move
from hyperviz.measure.nudge import Listen, Nudge
from hyperviz.measure.run import Run, Side, run_side

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
    trusted = [position for position, (furthest, _) in repeated.items() if _is_steady(base.value(position).data, furthest)]
    max_abs, rms = dict.fromkeys(trusted, 0.0), dict.fromkeys(trusted, 0.0)
    for i in range(RUNS):
        nudge = Nudge(listen.calls, seed=i)
        for position, (furthest, mean) in _moves(base, run_side(side, flat, seed, nudge, nudge.move_inputs), trusted).items():
            max_abs[position] = max(max_abs[position], furthest)
            rms[position] = max(rms[position], mean)
    names = [name.split(".")[1].rstrip("_") for name, _ in listen.calls if "." in name]
    jumps = tuple(dict.fromkeys(name for name in names if name in _JUMPS))
    return Noise(max_abs, rms, jumps, repeatable=not any(furthest for furthest, _ in repeated.values()))


def _moves(base: Run, run: Run, positions: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Position → how far a value moved, at most and in root mean square; nothing for one that came out in another size."""
    moves = {}
    for position in positions:
        before, after = base.value(position).data, run.value(position).data
        if before is not None and after is not None and before.shape == after.shape:
            moves[position] = measure_move(before, after)
    return moves


def _is_steady(data: torch.Tensor | None, furthest: float) -> bool:
    """Whether a value is the same when it is computed again, but for what atomic additions in any order do: half of its digits."""
    if data is None or not furthest:
        return data is not None
    return data.is_floating_point() and furthest <= torch.finfo(data.dtype).eps ** 0.5 * float(data.abs().max())
