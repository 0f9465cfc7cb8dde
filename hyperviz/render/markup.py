"""HTML from plain data, escaped: text from a program is data, never markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

from hyperviz.render.labels import clean


class Html(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def text(value: object) -> Html:
    """Any value as escaped text; a dash for None."""
    if isinstance(value, Html):
        return value
    return Html("–" if value is None else escape(clean(str(value))))


def tag(name: str, *content: object, **attributes: object) -> Html:
    """One element. In names of attributes ``_`` stands for ``-``, one at the end is dropped; None and False leave an attribute out."""
    words = []
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(f" {key}")
        elif value is not None and value is not False:
            words.append(f' {key}="{text(value)}"')
    return Html(f"<{name}{''.join(words)}>{join(content)}</{name}>")


def join(pieces: Iterable[object]) -> Html:
    """The pieces one after the other."""
    return Html("".join(map(text, pieces)))


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[object]], numeric: Iterable[int] = ()) -> Html:
    """A table that scrolls sideways where it must; the columns in ``numeric`` are set right."""
    right = set(numeric)

    def cells(kind: str, row: Sequence[object]) -> Html:
        return tag("tr", *(tag(kind, value, class_="number" if column in right else None) for column, value in enumerate(row)))

    body = tag("tbody", *(cells("td", row) for row in rows))
    return tag("div", tag("table", tag("caption", caption), tag("thead", cells("th", headings)), body), class_="scroll", tabindex="0")


def embedded(identifier: str, data: object) -> Html:
    """Data as JSON in a script element, in which no text can end the element."""
    words = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        words = words.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{identifier}">{words}</script>')
