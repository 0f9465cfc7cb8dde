"""What the explorer tells before anyone compiles: costs beside names, the step in time, why two regions are not one."""

import threading
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hand_made import HandMadeBackend
from hand_made_evidence import timeline

from hyperviz import render
from hyperviz.snapshot import CompileReport, OrderCheck
from hyperviz.widgets import Explorer, Knobs
from hyperviz.widgets.background import Background
from hyperviz.widgets.result_tables import report_table


@pytest.fixture
def explorer():
    explorer = Explorer(HandMadeBackend())
    yield explorer
    explorer._backend.held.set()
    explorer.close()


def tab(explorer, title):
    explorer._tabs.bring(title)
    return explorer._tabs.children[explorer._tabs.selected_index]


def settle(explorer):
    assert explorer._evidence.wait(30)


def labels(explorer):
    return [label for label, _ in explorer._panel._strategy.options]


def test_nothing_is_estimated_before_a_person_asks_for_it(explorer):
    settle(explorer)
    assert explorer._backend.asked == []
    assert "Turn the mode to regional" in tab(explorer, "Strategies").children[0].value


def test_each_strategy_has_its_cost_beside_its_name_as_it_arrives(explorer):
    explorer._backend.held.clear()
    explorer.mode = "regional"
    assert labels(explorer) == ["runs", "balanced", "annotated", "merged"]
    explorer._backend.held.set()
    settle(explorer)
    runs, balanced, annotated, merged = labels(explorer)
    assert runs == "runs — 26 regions, 7 distinct, 88.5 µs exposed, peak up to 3.27 MB"
    assert balanced.startswith("balanced — 10 regions")
    assert annotated == "annotated — its cost cannot be told: no annotation <here>"
    assert merged == "merged — merged needs torch 2.10 or later"
    assert explorer.knobs.strategy == explorer._panel._strategy.value == "runs"


def test_the_table_says_the_same_and_marks_the_choice_in_words(explorer):
    explorer.mode = "regional"
    settle(explorer)
    explorer.knobs = Knobs("regional", "balanced")
    shown = tab(explorer, "Strategies").children[0].value
    assert "▶ balanced (chosen)" in shown
    assert "11 of 11" in shown
    assert "no annotation &lt;here&gt;" in shown
    assert "Estimated for hand-made hardware. Regions that" in shown


def test_costs_are_asked_once_and_stale_until_new_ones_are_there(explorer):
    explorer.mode = "regional"
    settle(explorer)
    explorer.knobs = Knobs("regional", "merged")
    settle(explorer)
    assert len(explorer._backend.asked) == 4
    explorer._backend.held.clear()
    explorer.settings = {"max_autotune": True}
    assert labels(explorer)[0].endswith("(of earlier settings)")
    assert "hv-stale-note" in tab(explorer, "Strategies").children[0].value
    explorer._backend.held.set()
    settle(explorer)
    assert not labels(explorer)[0].endswith("(of earlier settings)")
    explorer.settings = {}
    settle(explorer)
    assert len(explorer._backend.asked) == 8


def test_choosing_in_the_menu_still_turns_the_knob(explorer):
    explorer.mode = "regional"
    settle(explorer)
    explorer._panel._strategy.value = "balanced"
    assert explorer.knobs.strategy == "balanced"


def test_the_timeline_is_estimated_when_its_tab_is_opened(explorer):
    explorer.mode = "regional"
    opened = tab(explorer, "Timeline")
    settle(explorer)
    assert ("timelines", "regional · runs", "h100") in explorer._backend.asked
    assert [one.title for one in opened.timelines.timelines] == ["The graph, eager", "The plan, regional · runs"]
    assert 'data-span="region_0" data-node="mm_0"' in opened._picture.value
    assert "data-node" in opened._table.value and "estimated for H100" in opened._words.value


def test_selecting_in_the_graph_outlines_its_spans_and_says_when_they_run(explorer):
    explorer.mode = "regional"
    opened = tab(explorer, "Timeline")
    settle(explorer)
    explorer.view.selected = "mm_0"
    assert '[data-span="mm_0"]' in opened._mark.value and '[data-span="region_0"]' in opened._mark.value
    assert "region_0 computes from 0 ms to 1 ms" in opened._words.value
    explorer.view.selected = ""
    assert opened._mark.value == ""


def test_a_timeline_of_other_knobs_is_stale_until_the_new_one_is_there(explorer):
    explorer.mode = "regional"
    opened = tab(explorer, "Timeline")
    settle(explorer)
    explorer._backend.held.clear()
    explorer.mode = "full"
    assert opened.is_stale and "hv-stale" in opened._dom_classes
    assert "This belongs to regional · runs on h100" in opened._words.value
    explorer._backend.held.set()
    settle(explorer)
    assert not opened.is_stale and "hv-stale" not in opened._dom_classes


def test_hardware_that_cannot_be_estimated_says_why(explorer):
    opened = tab(explorer, "Timeline")
    settle(explorer)
    opened._hardware.value = "a100"
    settle(explorer)
    assert "cannot be estimated: hardware must be h100, got &#x27;a100&#x27; &lt;b&gt;" in opened._words.value
    assert opened._picture.value == ""
    opened._hardware.value = "h100"
    assert "<svg" in opened._picture.value


def test_two_that_are_selected_are_asked_about_with_a_button(explorer):
    explorer.mode = "regional"
    settle(explorer)
    asking = tab(explorer, "Why two?")
    for name in ("relu_0", "mm_1"):
        explorer.view.selected = name
    asking._button.click()
    settle(explorer)
    assert ("apart", "relu_0", "mm_1") in explorer._backend.asked
    answer = asking._answer.value
    assert "No: gather_1 runs outside regions." in answer
    assert 'data-node="gather_1"' in answer and "relu_0 → gather_1 (effect)" in answer
    assert "✗ too dear" in answer and "communication stays eager &lt;i&gt;" in answer
    explorer.mode = "full"
    assert "too dear" not in asking._answer.value


def test_two_that_the_graph_sends_are_answered_in_front(explorer):
    explorer.view._handle_custom_msg({"kind": "compare", "first": "mm_0", "second": "mm_1"}, [])
    settle(explorer)
    assert explorer._tabs.titles[explorer._tabs.selected_index] == "Why two?"
    assert explorer._backend.asked == [("apart", "mm_0", "mm_1")]


def test_a_wrong_name_is_answered_with_the_near_miss_and_no_name_with_a_sentence(explorer):
    asking = tab(explorer, "Why two?")
    asking.ask("region_7", "region_1")
    settle(explorer)
    assert "did you mean &#x27;region_0&#x27;" in asking._answer.value
    asking.ask("region_0", " ")
    assert "Two names are needed" in asking._answer.value


def test_of_several_questions_about_one_thing_only_the_last_is_answered():
    background, gate, answered = Background(), threading.Event(), []
    background.ask("first", lambda: gate.wait(30))
    for number in range(3):
        background.ask("same", lambda number=number: answered.append(number))
    gate.set()
    assert background.wait(30)
    assert answered == [2]
    assert background.close()
    background.ask("late", lambda: answered.append("late"))
    assert answered == [2]


def test_the_picture_is_well_formed_and_says_all_in_words():
    text = render.timeline_svg([timeline("One <&> two", "region_0")], node_of={"region_0": "mm_0"})
    root = ET.fromstring(text)
    spans = [one for one in root.iter("{http://www.w3.org/2000/svg}g") if one.get("class") == "hv-span"]
    assert [(one.get("data-span"), one.get("data-node")) for one in spans] == [
        ("region_0", "mm_0"),
        ("wait_1", "wait_1"),
        ("mm_1", "mm_1"),
        ("gather_1", "gather_1"),
    ]
    assert "exposed 500 µs" in root.get("aria-label")
    assert "One <&> two" in "".join(root.itertext())


def test_what_takes_an_unknown_time_is_a_question_mark_and_no_timeline_is_refused():
    known = timeline("t", "mm_0")
    unknown = replace(known, spans=(replace(known.spans[0], end_ms=None), *known.spans[1:]), memory=())
    words = list(ET.fromstring(render.timeline_svg([unknown])).itertext())
    assert "?" in words and "nothing" in words
    with pytest.raises(ValueError, match="at least one"):
        render.timeline_svg([])


def test_the_check_of_the_order_stands_with_the_outcome_and_in_the_report():
    report = CompileReport("regional", 1.0, order=OrderCheck(3, 9, 2, 1, ("gather_1: 1 of 2 <compute> nodes lost",)))
    words = "Checked after compiling: order as planned: 3 eager calls against 9 compute nodes; windows kept: 1 of 2."
    shown = report_table(report)
    assert words in shown and "1 of 2 &lt;compute&gt; nodes lost" in shown
    assert words in render.html({}, reports={"balanced": report})
    assert "Checked" not in report_table(replace(report, order=None))
