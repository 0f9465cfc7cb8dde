"""Questions that are answered beside what a person does: one after another, in a thread, and none that is out of date."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Background:
    """Answers in a thread of its own. Of several questions about the same thing only the last is answered; each handles its own errors."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Callable[[], None]] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, topic: str, job: Callable[[], None]) -> None:
        """Puts a question behind all others; one about the same thing that still waits is dropped."""
        with self._lock:
            if self._closed:
                return
            self._waiting.pop(topic, None)
            self._waiting[topic] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._answer, name="hyperviz background", daemon=True)
                self._thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until nothing is left to answer; False where something is after ``timeout_s`` seconds."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
        return self._thread is None

    def close(self, timeout_s: float = 5.0) -> bool:
        """Drops what waits, for good; False where a question is still being answered after ``timeout_s`` seconds."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
        return self.wait(timeout_s)

    def _answer(self) -> None:
        while (job := self._next()) is not None:
            job()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if not self._waiting:
                self._thread = None
                return None
            return self._waiting.pop(next(iter(self._waiting)))
