"""Text from a program is data: escaped wherever it is shown."""

import doctest

from hand_made import HOSTILE

from hyperviz.widgets import units
from hyperviz.widgets.markup import MAX_ROWS, table, tag, text


def test_text_of_a_program_never_becomes_markup():
    html = table(("Name", HOSTILE), [(HOSTILE, 1)], HOSTILE)
    assert "<img" not in html and "</script>" not in html
    assert html.count("&lt;/script&gt;&lt;img") == 3
    assert 'title="&quot;' in tag("p", "x", title='"')


def test_markup_is_not_escaped_twice():
    assert tag("p", tag("b", "a & b")) == "<p><b>a &amp; b</b></p>"


def test_long_text_is_cut_and_none_is_a_dash():
    assert text("x" * 1000) == "x" * 299 + "…"
    assert text(None) == "—"


def test_a_table_leaves_out_columns_without_a_word_and_counts_rows_past_the_limit():
    html = table(("Name", "Error"), [(f"region_{i}", "") for i in range(MAX_ROWS + 7)])
    assert "Error" not in html
    assert "and 7 more" in html
    assert html.count("<tr>") == MAX_ROWS + 2


def test_units_read_as_their_examples_say():
    assert doctest.testmod(units) == (0, 5)
