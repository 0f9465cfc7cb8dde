"""The explorer where real ranks compile: their verdicts and times, where they disagree, and what is drawn before and after."""

from __future__ import annotations

import dataclasses
import gzip

import pytest
from hand_made import HOSTILE, HandMadeBackend, plan

from hyperviz.snapshot import CompileReport, Equality, OutputEquality, RankReports, RankResult, Timing, Timings
from hyperviz.widgets import Explorer, Knobs
from hyperviz.widgets.ranks_tab import ranks_table

LINK = "simulated link: 50 µs, 100 Gb/s"


def result(rank, verdict="bitwise", compiled=2.0):
    timings = Timings(tuple(Timing(name, (ms,) * 6, ms, ms, ms) for name, ms in (("eager", 4.0), ("regional", compiled))))
    outputs = (OutputEquality("loss", verdict, reason=HOSTILE),)
    return RankResult(rank, CompileReport("regional", 1.5), Equality(verdict, outputs), timings)


class RankBackend(HandMadeBackend):
    """Draws a step for a fake world of three ranks, and says that three real ones compiled it."""

    def __init__(self, *results):
        super().__init__()
        self.real = plan(Knobs("regional"), self.graph)
        self.graph = dataclasses.replace(self.graph, fake_world=3)
        self.results = results or (result(0), result(1, compiled=2.5), result(2))
        self.reports = RankReports(self.results, self.real, "gloo", LINK)

    def compare(self):
        return self.reports.worst.equality

    def benchmark(self):
        return self.reports.slowest.timings


@pytest.fixture
def explore():
    explorers = []

    def explore(backend):
        explorers.append(Explorer(backend, Knobs("regional")))
        return explorers[-1]

    yield explore
    for explorer in explorers:
        explorer.close()


def compiled(explorer):
    assert explorer.compile() and explorer.wait(30)
    return explorer


def ranks_tab(explorer):
    return explorer._tabs._ranks.children


def test_before_a_compile_it_says_that_nothing_was_run_and_who_would_run_it(explore):
    explorer = explore(RankBackend())
    assert "fake world of 3 ranks: not run" in explorer._cards.value and "Compile runs it on 3 real ranks" in explorer._cards.value
    assert explorer._cards.value.count("Not known yet") == 2
    assert "Compile to run the step on 3 real ranks" in ranks_tab(explorer)[1].value
    assert explorer._tabs.titles == ("Plan", "Strategies", "Timeline", "Why two?", "Timings", "Equality", "Ranks", "Settings", "Log")


def test_after_a_compile_every_rank_has_its_row_and_the_slowest_is_marked(explore):
    explorer = compiled(explore(RankBackend()))
    words = ranks_tab(explorer)[2].value
    assert words.count("<tr>") == 4 and words.count("◀ slowest") == 1
    assert "3 real ranks on gloo, over a simulated link: 50 µs, 100 Gb/s" in words
    assert "on each of 3 ranks" in explorer._cards.value and "rank 1, the slowest of 3" in explorer._cards.value
    assert LINK in explorer._cards.value
    assert explorer.ranks is explorer._backend.reports
    assert "hv-disagree" not in words


def test_ranks_that_disagree_are_called_out_above_the_table_and_in_the_card(explore):
    explorer = compiled(explore(RankBackend(result(0), result(1, "wrong"))))
    assert "⚠ ranks disagree whether it is the same: bitwise on rank 0, wrong on rank 1" in ranks_tab(explorer)[2].value
    assert "ranks disagree, the worst is rank 1 of 2" in explorer._cards.value and "✗" in explorer._cards.value


def test_what_ranks_really_compiled_takes_the_place_of_what_was_planned_without_a_new_picture(explore):
    explorer = explore(RankBackend())
    picture = explorer.view._picture
    explorer.view.selected = "mm_0"
    compiled(explorer)
    assert explorer.plan is explorer._backend.real and not explorer.stale
    assert (explorer.view._picture, explorer.view.selected) == (picture, "mm_0")
    assert "not run" not in explorer._cards.value and "Compiled and run on 3 real ranks" in explorer._cards.value


def test_what_ranks_compiled_is_drawn_anew_where_it_is_another_graph(explore):
    backend = RankBackend()
    other = dataclasses.replace(backend.real, graph=dataclasses.replace(backend.real.graph, notes=("traced on a rank",)))
    backend.reports = dataclasses.replace(backend.reports, plan=other)
    explorer = explore(backend)
    picture = explorer.view._picture
    explorer.view.selected = "mm_0"
    compiled(explorer)
    assert explorer.view._picture != picture and explorer.view.selected == "mm_0"
    assert "not run" not in gzip.decompress(explorer.view._picture).decode()
    explorer.mode = "off"
    assert "fake world of 3 ranks: not run" in gzip.decompress(explorer.view._picture).decode()


def test_a_turned_knob_goes_back_to_what_was_not_run_and_marks_the_ranks_stale(explore):
    explorer = compiled(explore(RankBackend()))
    explorer.mode = "full"
    assert "fake world of 3 ranks: not run" in explorer._cards.value
    assert explorer.stale and "belongs to an earlier compile" in ranks_tab(explorer)[0].value
    explorer.mode = "regional"
    assert explorer.plan is explorer._backend.real and ranks_tab(explorer)[0].value == ""


def test_no_text_of_a_program_becomes_markup(explore):
    explorer = compiled(explore(RankBackend(result(0, "rounding"), result(1, "rounding"))))
    assert all("<img" not in child.value for child in ranks_tab(explorer) if hasattr(child, "value"))


def test_one_rank_is_not_called_the_slowest():
    reports = RankBackend(result(0)).reports
    assert "slowest" not in ranks_table(reports) and "1 real rank on gloo" in ranks_table(reports)


def test_without_ranks_there_is_no_tab_for_them(explore):
    assert "Ranks" not in explore(HandMadeBackend())._tabs.titles
