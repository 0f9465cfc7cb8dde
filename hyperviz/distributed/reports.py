"""What a rank says of itself when it does not bring a result home: a small JSON file each."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

RAISED, UNPICKLABLE, UNFINISHED, SIGNALLED, EXITED, FINISHED = "raised", "unpicklable", "unfinished", "signalled", "exited", "finished"


@dataclass(frozen=True, slots=True)
class RankReport:
    """How one rank ended, or where it stood when time ran out.

    Attributes:
        rank: from 0.
        state: ``"raised"``, ``"unpicklable"`` (its result), ``"unfinished"``, ``"signalled"``, ``"exited"`` or ``"finished"``.
        traceback: of the exception; of where the rank stood if it is unfinished; what it last wrote to stderr if it died.
        exception_type: qualified name of what was raised, or empty.
        exception_message: its text, or empty.
        signal: name of the signal that ended it, or empty.
        in_flight: collectives that the rank has launched and torch has not completed, as in ``"all_reduce #3 of float [4] on group 0"``.
        last_collective: the last one that was complete, or empty.
        records_collectives: whether this torch tells of collectives at all.
        moment: when it was written, on the machine's monotonic clock, in seconds.
    """

    rank: int
    state: str
    traceback: str = ""
    exception_type: str = ""
    exception_message: str = ""
    signal: str = ""
    in_flight: tuple[str, ...] = ()
    last_collective: str = ""
    records_collectives: bool = False
    moment: float = 0.0

    def write(self, folder: Path) -> None:
        """Writes it whole or not at all: the launcher reads while ranks write."""
        draft = folder / f".rank-{self.rank}.json"
        draft.write_text(json.dumps(asdict(self)))
        os.replace(draft, folder / f"rank-{self.rank}.json")

    @classmethod
    def read(cls, folder: Path, rank: int) -> RankReport | None:
        """What that rank wrote, or None."""
        path = folder / f"rank-{rank}.json"
        if not path.exists():
            return None
        fields = json.loads(path.read_text())
        return cls(**{**fields, "in_flight": tuple(fields["in_flight"])})
