"""What ranks print, shown as they print it, each line with its rank."""

from __future__ import annotations

import sys
from pathlib import Path

# gloo writes this to stdout for every group that it connects.
_NOISE = "[Gloo] Rank "


class RankOutput:
    """Forwards both streams of every rank; call `forward` now and then."""

    def __init__(self, logs: Path, num_ranks: int) -> None:
        self._logs = logs
        self._read = {(rank, name): 0 for rank in range(num_ranks) for name in ("stdout", "stderr")}

    def forward(self, *, last: bool = False) -> None:
        """Prints the lines that are new; with ``last``, an unfinished line too."""
        for (rank, name), start in self._read.items():
            text = self._bytes(rank, name, start)
            whole = text if last else text[: text.rfind(b"\n") + 1]
            self._read[rank, name] += len(whole)
            for line in whole.decode(errors="replace").splitlines():
                if not line.startswith(_NOISE):
                    print(f"[rank {rank}] {line}", file=getattr(sys, name))

    def tail(self, rank: int, num_lines: int = 40) -> str:
        """The last lines that a rank wrote to stderr."""
        return "\n".join(self._bytes(rank, "stderr").decode(errors="replace").splitlines()[-num_lines:])

    def _bytes(self, rank: int, name: str, start: int = 0) -> bytes:
        # The elastic agent's own layout: logs/<run id>/attempt_0/<rank>/stdout.log
        for path in self._logs.glob(f"*/attempt_0/{rank}/{name}.log"):
            with path.open("rb") as file:
                file.seek(start)
                return file.read()
        return b""
