"""What ranks found, as a figure, a page and a picture's text; made by hand."""

import io
import json
from dataclasses import replace

import pytest

from hyperviz.render import html, plot_ranks
from hyperviz.snapshot import CompileReport, Equality, OutputEquality, RankReports, RankResult, Timing, Timings


def result(rank, verdict="bitwise", compiled=2.0):
    timings = Timings(
        tuple(Timing(name, (ms,) * 6, ms, ms * 0.9, ms * 1.1, 4_000_000) for name, ms in (("eager", 4.0), ("regional", compiled)))
    )
    return RankResult(rank, CompileReport("regional", 1.5), Equality(verdict, (OutputEquality("loss", verdict),)), timings)


@pytest.fixture
def reports(plan):
    link = "simulated link: 50 µs, 100 Gb/s"
    return RankReports((result(0), result(1, "rounding", 2.5)), plan, "gloo", link)


def words_of(figure):
    artists = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return [text.get_text() for text in artists]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_has_a_row_for_each_rank_marks_the_slowest_and_names_the_link(reports, theme):
    words = words_of(plot_ranks(reports, theme=theme))
    assert [word for word in words if word.startswith("rank ")] == ["rank 0", "rank 1"]
    assert words.count("◀ slowest") == 1
    assert any("over a simulated link: 50 µs, 100 Gb/s" in word for word in words)
    assert any("2.00x" in word for word in words) and any("rounding" in word for word in words)
    assert any("ranks disagree whether it is the same" in word for word in words)


def test_one_rank_is_not_called_the_slowest(reports):
    assert "◀ slowest" not in words_of(plot_ranks(replace(reports, ranks=reports.ranks[:1])))


def test_of_very_many_ranks_the_slowest_are_drawn_and_the_rest_counted(reports):
    many = replace(reports, ranks=tuple(result(rank, compiled=2.0 + rank / 100) for rank in range(40)))
    figure = plot_ranks(many)
    assert next(word for word in words_of(figure) if word.startswith("rank ")) == "rank 8"
    assert "8 faster ranks not drawn" in "".join(words_of(figure))
    figure.savefig(io.BytesIO(), format="svg")


def test_without_a_rank_there_is_nothing_to_draw(reports):
    with pytest.raises(ValueError, match="at least one rank"):
        plot_ranks(replace(reports, ranks=()))


def test_the_page_has_a_table_of_ranks_and_the_data(reports):
    page = html({"regional": reports.plan}, ranks=reports)
    section = page.partition('id="ranks"')[2].partition("</section>")[0]
    for words in ("2 real ranks on gloo, over a simulated link", "slowest", "≈ rounding", "ranks disagree whether", "rank 1: rounding"):
        assert words in section
    data = page.partition('id="hyperviz-data">')[2].partition("</script>")[0]
    assert json.loads(data)["ranks"]["data"]["link"] == reports.link
