"""Timelines as figures, as text, and as a trace that Perfetto opens."""

from __future__ import annotations

import json

import pytest
from matplotlib.patches import Rectangle

from hyperviz.render import html, plot_timeline, trace_json
from hyperviz.render.timeline_lanes import Bar, Look, coarse
from hyperviz.snapshot import COMPUTE, CollectiveTime, MemoryPoint, Span, Timeline, Timelines, from_json, to_json

MB = 10**6


def step(title="runs", exposed=2.0, label="estimated for H100", peak=4 * MB, least=3 * MB, **more):
    end = 3 + exposed
    spans = (
        Span(COMPUTE, "region_0", "compute", 0, 3, "2 nodes, 1 GFLOP"),
        Span(COMPUTE, "wait", "exposed", 3, end, "waits for gather", "gather"),
        Span(COMPUTE, "a_long_name_of_an_operator_12", "compute", end, end + 1),
        Span("group shards", "gather", "communication", 0, end, "all_gather of 5 MB over 8 ranks"),
    )
    memory = (MemoryPoint(0, "region_0", peak, least), MemoryPoint(end, "last", MB, MB))
    times = (CollectiveTime("gather", "all_gather", "shards", "", 5 * MB, end, 3.0, exposed),)
    facts = {"total_ms": end + 1, "compute_ms": 4.0, "exposed_ms": exposed, "hidden_ms": 3.0, "notes": ("a fact",)}
    return Timeline(title, label, spans, times, memory, **{**facts, **more}, peak_bytes=peak, least_peak_bytes=least, peak_node="region_0")


UNKNOWN = Timeline(
    "unknown",
    "estimated for X",
    (Span(COMPUTE, "a", "compute", 0, None), Span("group 0", "g", "communication", 0, None)),
    (CollectiveTime("g", "all_to_all", "0", "", None, None, None, None),),
    (MemoryPoint(0, "a", None, None),),
    total_ms=None,
    compute_ms=None,
    exposed_ms=None,
    hidden_ms=None,
    peak_bytes=None,
    least_peak_bytes=None,
)


def words(figure):
    return [text.get_text() for axes in (figure, *figure.axes) for text in axes.texts]


def bars(axes):
    return [(round(bar.get_x(), 6), round(bar.get_width(), 6), bar.get_hatch()) for bar in axes.patches if isinstance(bar, Rectangle)]


def test_lanes_labels_and_totals_are_said():
    said = words(plot_timeline(step()))
    for expected in ("estimated for H100", "compute", "group shards", "runs", "memory held", "besides 0 B of inputs", "a fact", "0", "G"):
        assert expected in said, expected
    assert "step 6 ms · exposed 2 ms · hidden 3 ms" in said
    assert any("peak between 3 MB and 4 MB at region_0" in text for text in said)
    assert {"G all-gather", "compute stands still"} <= set(said)


def test_exposed_time_is_hatched_on_both_lanes_and_nothing_else_is():
    lanes = plot_timeline(step()).axes[0]
    assert [bar for bar in bars(lanes) if bar[2]] == [(3, 2, "/////"), (3, 2, "/////")]
    assert (0, 5, None) in bars(lanes)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_several_share_one_scale_of_time_and_one_of_memory(theme):
    figure = plot_timeline([step("slow", exposed=6.0, peak=9 * MB), step("fast", exposed=0.5)], theme=theme)
    assert len({axes.get_xlim() for axes in figure.axes}) == 1 and figure.axes[0].get_xlim()[1] >= 10
    assert len({axes.get_ylim() for axes in figure.axes[1::2]}) == 1
    assert words(figure).count("slow") == words(figure).count("fast") == 1


def test_labels_that_differ_stand_with_each_and_notes_with_whom_they_concern():
    said = words(plot_timeline([step("a"), step("b", label="measured on this", notes=("another",))]))
    assert {"a", "estimated for H100", "b", "measured on this"} <= set(said)
    assert "a: a fact\nb: another" in said


def test_what_is_unknown_is_a_question_mark_and_a_word_never_a_zero():
    said = words(plot_timeline(UNKNOWN))
    assert said.count("?") == 2 and "unknown" in said
    assert "step unknown · exposed unknown · hidden unknown" in said
    assert "step unknown · compute unknown" in str(UNKNOWN) and "0 ms" not in str(UNKNOWN)


def test_a_step_of_nothing_and_names_of_any_kind_are_drawn():
    plot_timeline(Timeline("", "estimated for X", ())).canvas.draw()
    strange = "$\\alpha$ " + "x" * 300 + "\n<b>"
    plot_timeline(step(strange, notes=(strange * 5,) * 9, label=strange)).canvas.draw()


def test_wishes_that_cannot_be_met_are_refused():
    with pytest.raises(ValueError, match="at least one to be drawn, got none"):
        plot_timeline([])
    with pytest.raises(ValueError, match="theme must be one of light, dark, got 'blue'"):
        plot_timeline(step(), theme="blue")


def test_the_twin_in_words_lists_the_most_exposed_first():
    first, second = step().collectives[0], CollectiveTime("b", "all_reduce", "shards", "", 1, 0.5, 0.0, 9.0)
    text = str(step(notes=()).__class__("t", "l", (), (first, second)))
    assert [line.split()[0] for line in text.split("\n")[3:]] == ["collective", "b", "gather"]
    many = Timeline("t", "l", (), (first,) * 20)
    assert str(many).endswith("and 8 more, exposed for less")


def test_the_trace_holds_a_process_for_each_timeline_and_a_thread_for_each_lane():
    trace = json.loads(trace_json([step("slow"), step("fast", exposed=1.0), UNKNOWN]))
    events = trace["traceEvents"]
    names = {
        (event["pid"], event.get("tid")): event["args"]["name"] for event in events if event["name"] in ("process_name", "thread_name")
    }
    assert names[1, None] == "slow (estimated for H100)" and names[2, 1] == COMPUTE and names[2, 2] == "group shards"
    spans = [(event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert spans == [
        ("region_0", 0, 3000),
        ("wait for gather", 3000, 2000),
        ("a_long_name_of_an_operator_12", 5000, 1000),
        ("gather", 0, 5000),
    ]
    assert [event["ph"] for event in events if event["pid"] == 1 and event["name"] == "waits for"] == ["s", "f"]
    memory = next(event["args"] for event in events if event["ph"] == "C" and event["pid"] == 1)
    assert memory == {"live bytes": 4 * MB, "at least": 3 * MB}
    assert [event["args"]["duration"] for event in events if event["ph"] == "i"] == ["unknown", "unknown"]
    assert not [event for event in events if event["ph"] == "C" and event["pid"] == 3]
    assert trace["otherData"]["slow"][0] == "slow — estimated for H100"


def test_several_timelines_are_saved_together_and_drawn_on_a_page():
    both = Timelines((step("slow"), step("fast")))
    assert from_json(to_json(both)) == both
    page = html({}, timelines=both)
    assert 'id="timelines"' in page and "fast — estimated for H100" in page
    assert str(both).count("estimated for H100") == 2


def test_bars_too_fine_to_see_become_a_raster_of_what_fills_most_of_each_cell():
    busy, idle = Look("#000000", "#000000"), Look("#ffffff", "#ff0000", "#ff0000")
    fine = [bar for cell in range(20) for bar in (Bar(cell, cell + 0.7, busy), Bar(cell + 0.7, cell + 1, idle))]
    assert coarse(fine, 10) == [Bar(0, 20, busy)]
    assert coarse(fine, 0.1) == fine
    wide = Bar(20, 50, idle)
    assert coarse([*fine, wide], 10) == [Bar(0, 20, busy), wide]


def test_a_step_of_thousands_of_operators_is_drawn_with_few_bars():
    spans = tuple(Span(COMPUTE, f"n{index}", "compute", index, index + 1) for index in range(5000))
    figure = plot_timeline(Timeline("", "estimated for X", spans))
    assert 1 <= len(bars(figure.axes[0])) < 10
