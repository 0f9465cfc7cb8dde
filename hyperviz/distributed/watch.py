"""A rank's watch: it ends with whoever launched it, and says where it stands when time is up."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from hyperviz.distributed import flights
from hyperviz.distributed.reports import UNFINISHED, RankReport


class Watch:
    """Runs beside the rank's own work, in threads that do nothing but wait."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder = folder
        self._rank = rank
        self._timer: threading.Timer | None = None
        self._stacks = open(folder / f"rank-{rank}.stacks", "w")  # noqa: SIM115
        threading.Thread(target=_end_with, args=(_take_stdin(),), daemon=True).start()

    def allow(self, seconds: float) -> None:
        """From now on there are ``seconds`` left; replaces what was allowed before."""
        if self._timer:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self._speak)
        self._timer.daemon = True
        self._timer.start()
        # The timer needs the interpreter. Where C code never gives it back, this needs nothing, and shows the stack all the same.
        faulthandler.dump_traceback_later(seconds + 1, file=self._stacks)

    def _speak(self) -> None:
        _where_it_stands(self._rank).write(self._folder)


def _take_stdin() -> int:
    """Standard input's pipe, kept from everyone else: for them it is empty from now on."""
    pipe, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return pipe


def _end_with(pipe: int) -> None:
    # Only the launcher can write to this pipe, and it never does: reading returns when the launcher has ended, however that came.
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)


def _where_it_stands(rank: int) -> RankReport:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    stack = traceback.extract_stack(frame) if frame else []
    told = flights.collectives()
    in_flight, last = told or ((), "")
    return RankReport(
        rank,
        UNFINISHED,
        traceback="".join(traceback.format_list(below_launcher(stack))),
        in_flight=in_flight,
        last_collective=last,
        records_collectives=told is not None,
        moment=time.monotonic(),
    )


def below_launcher(stack: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """The frames that are the caller's own business: those after the last of this room's entry point."""
    ours = [i for i, frame in enumerate(stack) if frame.filename.endswith(os.path.join("hyperviz", "distributed", "rank.py"))]
    return (stack[ours[-1] + 1 :] if ours else stack) or stack
