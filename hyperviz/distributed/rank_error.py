"""What a person reads when a rank fails: which rank, how, and where."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

from hyperviz.distributed.job import Job
from hyperviz.distributed.output import RankOutput
from hyperviz.distributed.reports import EXITED, FINISHED, RAISED, SIGNALLED, UNFINISHED, UNPICKLABLE, RankReport


class RankError(RuntimeError):
    """A rank raised, died, or did not finish in time. Its text holds that rank's traceback.

    The original exception is its ``__cause__`` where that could be pickled.

    Attributes:
        rank: the rank that failed first; of ranks that did not finish, the one that the others wait for as far as that can be told;
            None where no rank was started.
        traceback: its traceback; where it stood, if it did not finish; what it last wrote to stderr, if it died.
        exception_type: name of what it raised, as in ``"ValueError"``, or empty.
        exception_message: that exception's text, or empty.
        signal: name of the signal that ended it, as in ``"SIGKILL"``, or empty.
        timed_out: whether the time limit ended the launch.
        reports: how every rank ended.
    """

    def __init__(
        self, message: str, report: RankReport | None = None, reports: Sequence[RankReport] = (), *, timed_out: bool = False
    ) -> None:
        super().__init__(message)
        self.rank = report.rank if report else None
        self.traceback = report.traceback if report else ""
        self.exception_type = report.exception_type if report else ""
        self.exception_message = report.exception_message if report else ""
        self.signal = report.signal if report else ""
        self.timed_out = timed_out
        self.reports = tuple(reports)


def gather_reports(folder: Path, job: Job, output: RankOutput) -> list[RankReport]:
    """How every rank ended, from what it wrote and, where it could write nothing, from how its process ended."""
    exits_file = folder / "exits.json"
    exits = json.loads(exits_file.read_text()) if exits_file.exists() else {}
    return [_report_of(rank, folder, exits.get(str(rank)), output) for rank in range(job.num_ranks)]


def _report_of(rank: int, folder: Path, exit_code: int | None, output: RankOutput) -> RankReport:
    if (folder / f"result-{rank}").exists():
        return RankReport(rank, FINISHED)
    if report := RankReport.read(folder, rank):
        return report
    if exit_code is not None and exit_code < 0:
        return RankReport(rank, SIGNALLED, traceback=output.tail(rank), signal=signal.Signals(-exit_code).name)
    if exit_code is not None:
        return RankReport(rank, EXITED, traceback=output.tail(rank), exception_message=str(exit_code))
    stacks = folder / f"rank-{rank}.stacks"
    return RankReport(rank, UNFINISHED, traceback=stacks.read_text() if stacks.exists() else "")


def failed(reports: Sequence[RankReport]) -> RankError:
    """The error of a launch in which a rank failed: the first to fail, and a line on each that fell with it."""
    first = min((r for r in reports if r.state != FINISHED), key=_came_first)
    fell = [r for r in reports if r is not first and (_died(r) or r.state in (RAISED, EXITED))]
    others = [f"rank {r.rank} {_how(r)}" for r in fell]
    also = f"\n(also: {'; '.join(others)})" if others else ""
    details = f"\n\n{first.traceback.rstrip()}" if first.traceback else ""
    return RankError(f"rank {first.rank} of {len(reports)} {_how(first)}{also}{details}", first, reports)


def timed_out(reports: Sequence[RankReport], limit: str) -> RankError:
    """The error of a launch that its time ``limit`` ended: where each rank stood, and in which collective."""
    late = [r for r in reports if r.state not in (FINISHED, RAISED)]
    absent = [r for r in late if not r.in_flight] if any(r.in_flight for r in late) else []
    head = f"{len(late)} of {len(reports)} ranks had not {limit}"
    lines = [f"rank {r.rank} {_how(r)}" for r in reports]
    stacks = [f"rank {r.rank} stood at:\n{r.traceback.rstrip()}" for r in late if r.traceback]
    return RankError("\n".join([head, *lines, "", *stacks]).rstrip(), (absent or late)[0], reports, timed_out=True)


def _came_first(report: RankReport) -> tuple[int, float]:
    """A rank that fails of itself comes before one whose collective broke off, and that before one that was told to stop."""
    if report.state == UNPICKLABLE or (report.state == RAISED and not _lost_a_peer(report)):
        return 0, report.moment
    if _died(report) or report.state == EXITED:
        return 1, 0.0
    return (2, report.moment) if report.state == RAISED else (3, 0.0)


def _died(report: RankReport) -> bool:
    # SIGTERM is how the elastic agent ends the others.
    return report.state == SIGNALLED and report.signal != signal.SIGTERM.name


def _lost_a_peer(report: RankReport) -> bool:
    """Whether this was raised by a collective whose other side went away: gloo and nccl say so in words only."""
    words = ("gloo/transport", "NCCL", "Connection closed by peer", "Connection reset by peer", "Broken pipe")
    return any(word in report.exception_message for word in words)


def _how(report: RankReport) -> str:
    if report.state == RAISED:
        return f"raised {report.exception_type}: {_first_line(report.exception_message)}"
    if report.state == SIGNALLED:
        return f"was ended by {report.signal}"
    if report.state == EXITED:
        return f"exited with code {report.exception_message} before its function returned"
    if report.state != UNFINISHED:
        return report.state
    if report.in_flight:
        return f"has in flight: {', '.join(report.in_flight)}"
    if not report.records_collectives:
        return "had not finished"
    return f"is in no collective; its last was {report.last_collective or 'none'}"


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""
