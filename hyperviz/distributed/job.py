"""What a launch tells its ranks besides the function."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Job:
    """One launch.

    Attributes:
        token: found in the environment of every process that this launch brings about, and of no other.
        num_ranks: how many ranks.
        num_threads: torch's compute threads in each.
        timeout_s: how long the function may take once all ranks have joined, in seconds.
        start_s: how long joining may take, in seconds.
    """

    token: str
    num_ranks: int
    num_threads: int
    timeout_s: float
    start_s: float

    def write(self, folder: Path) -> None:
        """Writes it to ``folder``."""
        (folder / "job.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Job:
        """The job that lies in ``folder``."""
        return cls(**json.loads((folder / "job.json").read_text()))
