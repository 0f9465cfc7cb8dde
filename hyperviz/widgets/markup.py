"""Small pieces of HTML from plain data, escaped: text from a program is data, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_CELL = 300
MAX_ROWS = 500


class Keyed:
    """A cell whose column is sorted by something else than what is shown.

    Attributes:
        shown: what stands in the cell.
        key: what it is sorted by.
    """

    __slots__ = ("key", "shown")

    def __init__(self, shown: object, key: float) -> None:
        self.shown, self.key = shown, key

    def __eq__(self, other: object) -> bool:
        return self.shown == (other.shown if isinstance(other, Keyed) else other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Html(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def text(value: object, limit: int = MAX_CELL) -> Html:
    """Any value as escaped text, its end replaced by … where it is longer than ``limit``."""
    if isinstance(value, Html):
        return value
    words = "—" if value is None else str(value)
    return Html(escape(words if len(words) <= limit else words[: limit - 1] + "…"))


def tag(name: str, *content: object, kind: str = "", **attributes: str) -> Html:
    """One element; ``kind`` is its class, and underscores in attribute names stand for hyphens."""
    words = {"class": kind, **{key.replace("_", "-"): value for key, value in attributes.items()}}
    start = "".join(f' {key}="{escape(value)}"' for key, value in words.items() if value)
    return Html(f"<{name}{start}>{''.join(map(text, content))}</{name}>")


def table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", numeric: Sequence[int] = (), *, sortable: bool = False
) -> Html:
    """A table; columns listed in ``numeric`` stand to the right.

    A column without a word is left out, and rows past ``MAX_ROWS`` are counted in a last row instead. In a ``sortable`` one the headings
    are buttons, which the page around the explorer makes work.
    """
    rows = list(rows)
    columns = [column for column in range(len(headings)) if any(row[column] != "" for row in rows)]
    lines = [tag("tr", *(_cell(row[column], column in numeric) for column in columns)) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        lines.append(tag("tr", tag("td", f"and {len(rows) - MAX_ROWS:,} more", colspan=str(len(columns)))))
    head = tag("tr", *(_heading(headings[column], column in numeric, sortable) for column in columns))
    words = tag("caption", caption) if caption else Html("")
    return tag("div", tag("table", words, tag("thead", head), tag("tbody", *lines), kind="hv-table"), kind="hv-scroll", tabindex="0")


def _heading(words: str, numeric: bool, sortable: bool) -> Html:
    content = tag("button", words, kind="hv-sort", type="button", title="Sort") if sortable and words else words
    return tag("th", content, kind="hv-number" if numeric else "", scope="col")


def _cell(value: object, numeric: bool) -> Html:
    key = ""
    if isinstance(value, Keyed):
        value, key = value.shown, repr(value.key)
    words = "" if value is None or isinstance(value, Html) or len(str(value)) <= MAX_CELL else str(value)[:2000]
    return tag("td", value, kind="hv-number" if numeric else "", title=words, data_key=key)
