"""Small pieces of HTML from plain data, escaped: text from a program is data, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_CELL = 300
MAX_ROWS = 500


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


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", numeric: Sequence[int] = ()) -> Html:
    """A table; columns listed in ``numeric`` stand to the right.

    A column without a word is left out, and rows past ``MAX_ROWS`` are counted in a last row instead.
    """
    rows = list(rows)
    columns = [column for column in range(len(headings)) if any(row[column] != "" for row in rows)]
    lines = [tag("tr", *(_cell(row[column], column in numeric) for column in columns)) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        lines.append(tag("tr", tag("td", f"and {len(rows) - MAX_ROWS:,} more", colspan=str(len(columns)))))
    head = tag("tr", *(tag("th", headings[column], kind="hv-number" if column in numeric else "", scope="col") for column in columns))
    words = tag("caption", caption) if caption else Html("")
    return tag("div", tag("table", words, tag("thead", head), tag("tbody", *lines), kind="hv-table"), kind="hv-scroll", tabindex="0")


def _cell(value: object, numeric: bool) -> Html:
    words = "" if value is None or isinstance(value, Html) or len(str(value)) <= MAX_CELL else str(value)[:2000]
    return tag("td", value, kind="hv-number" if numeric else "", title=words)
