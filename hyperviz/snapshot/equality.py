"""What a comparison of two runs concluded, output by output."""

from __future__ import annotations

from dataclasses import dataclass

VERDICTS = ("bitwise", "rounding", "random", "structural", "wrong")


@dataclass(frozen=True, slots=True)
class OutputEquality:
    """How one output of two runs relates.

    Attributes:
        name: what the output is, as in ``"loss"`` or ``"grad of blocks.0.attn.qkv.weight"``.
        verdict: one of ``VERDICTS``; ``hyperviz.compare`` defines each.
        reason: one sentence: why this verdict and no milder one.
        total: elements compared; 0 for an output that is not a tensor.
        mismatched: elements whose bits differ under the stated choice for NaN and signed zeros.
        max_ulp: the largest difference in units of the last place of the first side's dtype; 0 for bitwise, None where undefined.
        max_abs: the largest absolute difference; None where undefined.
        max_rel: the largest difference relative to the first side's magnitude; None where undefined.
        first: expected dtype, shape, stride and device of the first side, as text.
        second: the same for the second side.
    """

    name: str
    verdict: str
    reason: str = ""
    total: int = 0
    mismatched: int = 0
    max_ulp: int | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    first: str = ""
    second: str = ""


@dataclass(frozen=True, slots=True)
class Equality:
    """How two runs of one computation relate.

    Attributes:
        verdict: the worst of the outputs', or ``"structural"`` where their number or nesting differs.
        outputs: in the order in which they are returned.
        labels: what the two sides are called.
        seed: the seed that both sides started from.
        nan: how NaNs were counted, ``"bits"`` or ``"equal"``.
        zeros: how signed zeros were counted, ``"bits"`` or ``"equal"``.
        notes: sentences about the comparison as a whole.
    """

    verdict: str
    outputs: tuple[OutputEquality, ...]
    labels: tuple[str, str] = ("eager", "compiled")
    seed: int = 0
    nan: str = "bits"
    zeros: str = "bits"
    notes: tuple[str, ...] = ()

    @property
    def num_bitwise(self) -> int:
        """How many outputs are equal bit for bit."""
        return sum(output.verdict == "bitwise" for output in self.outputs)

    def __str__(self) -> str:
        return f"{self.verdict}: {self.num_bitwise} of {len(self.outputs)} outputs equal bit for bit"
