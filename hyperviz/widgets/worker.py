"""One long job at a time, in a thread of its own, so that the kernel stays live and the job can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable

Job = Callable[[Callable[[], bool]], None]
"""What runs: called with a function that says whether it should stop. It handles its own errors."""


class Worker:
    """Runs a job in a thread. Stopping is a request: the job looks for it when it can."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether the job was asked to stop."""
        return self._stop.is_set()

    def start(self, job: Job) -> bool:
        """Starts a job, or returns False where one is running or the worker was closed."""
        with self._lock:
            if self.busy or self._closed:
                return False
            self._stop.clear()
            # A daemon, so that a long compile never keeps a finished kernel alive.
            self._thread = threading.Thread(target=job, args=(self._stop.is_set,), name="hyperviz worker", daemon=True)
            self._thread.start()
            return True

    def stop(self) -> None:
        """Asks the job to stop."""
        self._stop.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits for the job's end; False where it is still running after ``timeout_s`` seconds."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)
        return not self.busy

    def close(self, timeout_s: float = 5.0) -> bool:
        """Stops for good: no job starts afterwards. False where the last one is still running after ``timeout_s`` seconds."""
        self._closed = True
        self.stop()
        return self.wait(timeout_s)
