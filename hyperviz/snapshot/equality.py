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
        reason: why this verdict and no milder one; empty for ``"bitwise"``.
        total: elements compared, a complex number as two; 0 where there are no numbers to compare.
        mismatched: elements whose bits differ under the stated choice for NaN and signed zeros.
        max_ulp: the largest difference in units of the last place of its dtype; 0 for bitwise, None where undefined, as for integers.
        max_abs: the largest absolute difference; None where undefined.
        max_rel: the largest difference relative to the first side's magnitude; None where undefined.
        first: type, dtype, shape, stride and device on the first side, as text; ``"not returned"`` where it has none.
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
        verdict: the worst of the outputs', and no better than ``"structural"`` where their number or nesting differs.
        outputs: in the order in which they are returned; then the inputs that a run wrote to, as they are after it.
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
