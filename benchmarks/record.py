"""What a benchmark found: printed, kept as JSON with the machine it ran on, and written into README.md from there."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import torch

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BEGIN, END = "<!-- results: written by record.py -->", "<!-- end of results -->"


@dataclass(frozen=True, slots=True)
class Result:
    """One claim, measured.

    Attributes:
        name: of the benchmark's file.
        what: what was compared, in one sentence.
        target: what is claimed, in words.
        reached: whether the median reaches it.
        ratios: one per round, both sides measured side by side in that round.
        seconds: side → its times in the rounds' order.
        notes: whatever else a reader must know.
        machine: what it ran on.
    """

    name: str
    what: str
    target: str
    reached: bool
    ratios: tuple[float, ...]
    seconds: Mapping[str, Sequence[float]]
    notes: tuple[str, ...] = ()
    machine: Mapping[str, str] = field(default_factory=lambda: machine())

    @property
    def ratio(self) -> str:
        """The median ratio and its spread, as text."""
        return spread(self.ratios)


def spread(ratios: Sequence[float]) -> str:
    """A median ratio and the smallest and largest, as text."""
    return f"{statistics.median(ratios):.3g}x ({min(ratios):.3g} to {max(ratios):.3g} in {len(ratios)} rounds)"


def machine() -> dict[str, str]:
    """This machine and what runs on it."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch threads": str(torch.get_num_threads()),
        "hyperviz": version("hyperviz"),
    }


def record(result: Result) -> int:
    """Prints a result, keeps it, renews README.md; returns 0 where the target was reached, 1 otherwise."""
    print(f"{result.name}: {result.what}")
    for side, seconds in result.seconds.items():
        print(f"  {side:24} median {statistics.median(seconds):.4g} s, {min(seconds):.4g} to {max(seconds):.4g} s, {len(seconds)} samples")
    print(f"  ratio {result.ratio}; target {result.target}: {'reached' if result.reached else 'NOT reached'}")
    print(*(f"  {note}" for note in result.notes), "  " + ", ".join(f"{key} {value}" for key, value in result.machine.items()), sep="\n")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{result.name}.json").write_text(json.dumps(asdict(result), indent=1) + "\n")
    write_readme()
    return 0 if result.reached else 1


def write_readme() -> None:
    """Puts one line for each kept result between the two marks of README.md."""
    readme = HERE / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text("\n".join([before + BEGIN, "", *_table(), "", END + after]))


def _table() -> list[str]:
    results = [Result(**json.loads(file.read_text())) for file in sorted(RESULTS.glob("*.json"))]
    head = ["| benchmark | what | ratio: median (spread) | target | reached |", "|---|---|---|---|---|"]
    rows = [f"| `{r.name}` | {r.what} | {r.ratio} | {r.target} | {'yes' if r.reached else '**no**'} |" for r in results]
    machines = sorted({", ".join(f"{key} {value}" for key, value in r.machine.items()) for r in results})
    notes = [f"- `{r.name}`: {note}" for r in results for note in r.notes]
    return [*head, *rows, "", *notes, "", *(f"Measured on: {text}." for text in machines)]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


if __name__ == "__main__":
    sys.exit(write_readme())
