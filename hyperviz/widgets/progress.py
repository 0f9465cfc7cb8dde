"""Where a long job is: which region, what it holds, how long so far, how long still."""

from __future__ import annotations

import threading
import time

import ipywidgets as widgets

from hyperviz.snapshot import Progress
from hyperviz.widgets.markup import Html, tag
from hyperviz.widgets.units import seconds

MAX_CHANGES_PER_SECOND = 10


class ProgressPanel(widgets.HTML):
    """One bar and one sentence; empty while nothing runs. Its clock goes on while a region takes long."""

    def __init__(self) -> None:
        super().__init__()
        self.add_class("hv-progress-panel")
        self._progress = Progress(0, 0)
        self._started = self._drawn = 0.0
        self._ended = threading.Event()
        self._drawing = threading.Lock()

    def begin(self, what: str) -> None:
        """Starts the clock."""
        self._ended.set()
        self._ended, self._started = threading.Event(), time.monotonic()
        self._progress = Progress(0, 0, what=what)
        self._draw()
        threading.Thread(target=self._tick, args=(self._ended,), name="hyperviz clock", daemon=True).start()

    def show(self, progress: Progress) -> None:
        """Moves the bar; redrawn only as often as an eye can follow."""
        self._progress = progress
        if time.monotonic() - self._drawn > 1 / MAX_CHANGES_PER_SECOND:
            self._draw()

    def end(self) -> None:
        """Empties the panel and stops the clock."""
        with self._drawing:
            self._ended.set()
            self.value = ""

    def _tick(self, ended: threading.Event) -> None:
        while not ended.wait(1.0):
            with self._drawing:
                if not ended.is_set():  # it may have ended while this waited for the lock
                    self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self.value = progress_bar(self._progress, self._drawn - self._started)


def progress_bar(progress: Progress, elapsed_s: float) -> Html:
    """The bar and its sentence, after ``elapsed_s`` seconds; a bar without a known total shows that something is going on."""
    done = {"max": str(progress.total), "value": str(progress.index)} if progress.total else {}
    bar = tag("progress", aria_label="progress", **done)
    where = f"{progress.name} ({min(progress.index + 1, progress.total)} of {progress.total})" if progress.name and progress.total else ""
    words = [tag("b", where) if where else "", progress.what, f"{seconds(elapsed_s)} so far{_left(progress, elapsed_s)}"]
    return tag("div", bar, *(tag("span", word) for word in words if word), kind="hv-progress", role="status")


def _left(progress: Progress, elapsed_s: float) -> str:
    """The backend's estimate, less what went by since it was made."""
    if progress.seconds_left is None:
        return ""
    left = progress.seconds_left - (elapsed_s - progress.seconds)
    return f", about {seconds(left)} left" if left >= 0.5 else ", nearly done"
