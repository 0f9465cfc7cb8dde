"""What happened, newest first, with the whole text of every error."""

from __future__ import annotations

import time
import traceback

import ipywidgets as widgets

from hyperviz.widgets.markup import Html, tag, text

MAX_ENTRIES = 200


class Logbook(widgets.HTML):
    """A list of what was done and what went wrong."""

    def __init__(self) -> None:
        super().__init__(value=tag("p", "Nothing has happened yet.", kind="hv-hint"))
        self.add_class("hv-log")
        self.entries: list[str] = []
        self._lines: list[Html] = []

    def add(self, words: str, error: BaseException | None = None) -> None:
        """Writes one entry; an error brings its traceback along, folded."""
        self.entries.append(words)
        clock = tag("time", time.strftime("%H:%M:%S"))
        line = tag("li", clock, tag("span", text(words, 2000), _trace(error)), kind="hv-error" if error else "")
        self._lines = [line, *self._lines][:MAX_ENTRIES]
        self.value = tag("ol", *self._lines, kind="hv-entries")


def _trace(error: BaseException | None) -> Html:
    if error is None:
        return Html("")
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return tag("details", tag("summary", "traceback"), tag("pre", text(lines, 20_000)))
