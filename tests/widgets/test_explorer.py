"""The explorer on a hand-made backend: knobs, compile, stop, errors, and what is stale."""

import dataclasses
import threading

import pytest
from hand_made import HOSTILE, HandMadeBackend

from hyperviz.widgets import Explorer, Knobs


@pytest.fixture
def explore():
    explorers = []

    def explore(backend=None, knobs=None):
        explorers.append(Explorer(backend or HandMadeBackend(), knobs))
        return explorers[-1]

    yield explore
    for explorer in explorers:
        explorer._backend.gate.set()
        explorer.close()


def compiled(explorer):
    assert explorer.compile()
    assert explorer.wait(30)
    return explorer


def test_turning_the_mode_plans_and_recolours_without_compiling(explore):
    explorer = explore()
    picture = explorer.view._picture
    explorer._panel._mode.value = "regional"
    assert explorer.mode == "regional"
    assert explorer.plan.mode == "regional" and len(explorer.plan.regions) == 2
    assert explorer.view._picture is picture
    assert explorer._backend.calls == ["plan", "plan"]
    assert "2 regions" in explorer._cards.value


def test_the_kernel_turns_the_same_knobs_as_the_mouse(explore):
    explorer = explore()
    explorer.mode = "full"
    explorer.settings = {"max_autotune": True}
    assert explorer._panel._mode.value == "full"
    assert explorer._editor.values == {"max_autotune": True}
    assert explorer.knobs == Knobs("full", settings={"max_autotune": True})
    with pytest.raises(ValueError, match=r"did you mean 'full'\?"):
        explorer.mode = "ful"
    with pytest.raises(ValueError, match="must be bool"):
        explorer.settings = {"max_autotune": 3}
    assert explorer.mode == "full"


def test_knobs_that_come_from_outside_are_turned_in_one_step(explore):
    explorer = explore()
    explorer.knobs = Knobs("regional", "annotated", {"max_autotune": True})
    assert explorer._backend.calls == ["plan", "plan"]
    assert explorer.knobs.strategy == "annotated"


def test_compile_compares_and_times_and_says_so_in_big_words(explore):
    explorer = compiled(explore(knobs=Knobs("regional")))
    assert explorer._backend.calls == ["plan", "compile", "compare", "benchmark"]
    assert explorer.report.mode == "regional"
    assert explorer.equality.verdict == "rounding"
    assert explorer.timings.timings[1].median_ms == 1.05
    assert "Equal up to rounding" in explorer._cards.value
    assert "× faster" in explorer._cards.value
    assert not explorer.busy and not explorer.stale


@pytest.mark.parametrize(("verdict", "words"), [("bitwise", "Bitwise equal"), ("wrong", "Wrong"), ("random", "Random by design")])
def test_each_verdict_has_its_words(explore, verdict, words):
    assert words in compiled(explore(HandMadeBackend(verdict=verdict)))._cards.value


def test_what_was_compiled_is_stale_until_the_knobs_are_back(explore):
    explorer = compiled(explore(knobs=Knobs("regional")))
    explorer.mode = "full"
    assert explorer.stale
    assert "of an earlier compile: regional · runs" in explorer._cards.value
    assert "This belongs to an earlier compile" in explorer._tabs._equality.children[0].value
    explorer.mode = "regional"
    assert not explorer.stale
    assert "earlier compile" not in explorer._cards.value
    assert explorer._tabs._equality.children[0].value == ""


def test_a_second_click_is_refused_politely_while_a_compile_runs(explore):
    backend = HandMadeBackend()
    explorer = explore(backend, Knobs("regional"))
    backend.gate.clear()
    explorer._panel._compile.click()
    assert explorer.busy
    explorer._panel._compile.click()
    assert "A compile is running" in explorer._message.value
    backend.gate.set()
    assert explorer.wait(30)
    assert backend.calls.count("compile") == 1


def test_stop_ends_a_compile_between_regions_and_keeps_what_was_there(explore):
    backend = HandMadeBackend()
    explorer = compiled(explore(backend, Knobs("regional")))
    before = explorer.report
    backend.gate.clear()
    explorer.compile()
    explorer.stop()
    assert explorer._panel._stop.description == "Stopping…"
    backend.gate.set()
    assert explorer.wait(30)
    assert "Stopped." in explorer._message.value
    assert explorer.report is before
    assert explorer._panel._compile.description == "Compile"


def test_an_error_of_the_compiler_is_shown_escaped_and_whole_in_the_log(explore):
    explorer = compiled(explore(HandMadeBackend(fail_at="region_1"), Knobs("regional")))
    assert "Compiling failed. " in explorer._message.value
    assert "no C++ compiler, install g++" in explorer._message.value
    assert "<img" not in explorer._message.value + explorer._book.value
    assert HOSTILE in explorer._book.entries[-1]
    assert "RuntimeError" in explorer._book.value
    assert explorer.report is None
    assert compiled(explore()).report is not None


def test_what_follows_an_error_is_folded_below_it(explore, monkeypatch):
    def fail(*_):
        raise RuntimeError(f"rank 1 of 2 raised ValueError: no\n\nTraceback\n  File {HOSTILE}")

    explorer = explore(knobs=Knobs("regional"))
    monkeypatch.setattr(explorer._backend, "compile", fail)
    compiled(explorer)
    head, _, rest = explorer._message.value.partition("<details>")
    assert "rank 1 of 2 raised ValueError: no" in head and "Traceback" not in head
    assert "<pre>Traceback\n  File" in rest and "<img" not in rest


@pytest.mark.parametrize(("method", "words"), [("compare", "Comparing failed."), ("benchmark", "Timing failed.")])
def test_what_was_compiled_stays_when_measuring_it_fails(explore, monkeypatch, method, words):
    explorer = explore(knobs=Knobs("regional"))
    monkeypatch.setattr(explorer._backend, method, lambda: 1 / 0)
    compiled(explorer)
    assert words in explorer._message.value
    assert explorer.report is not None
    assert explorer.timings is None


def test_knobs_that_cannot_be_planned_go_back_and_say_why(explore, monkeypatch):
    explorer = explore()
    monkeypatch.setattr(explorer._backend, "plan", lambda _: 1 / 0)
    explorer._panel._mode.value = "full"
    assert "This cannot be planned. " in explorer._message.value
    assert explorer.mode == explorer._panel._mode.value == "off"


def test_a_setting_without_effect_says_so(explore):
    explorer = explore()
    explorer._editor.change("max_autotune", "True")
    assert "No effect: mode &#x27;off&#x27; compiles no region" in explorer._message.value
    explorer.knobs = Knobs("regional")
    compiled(explorer)
    explorer._editor.change("max_autotune", "True")
    assert "The regions stay as they are" in explorer._message.value
    compiled(explorer)
    assert "max_autotune: no effect was seen" in explorer._message.value


def test_a_mode_that_plans_the_same_says_so(explore, monkeypatch):
    explorer = explore(knobs=Knobs("regional"))
    same = explorer.plan
    monkeypatch.setattr(explorer._backend, "plan", lambda _: same)
    explorer.mode = "full"
    assert "No effect: the regions stay as they are." in explorer._message.value


def test_knobs_turned_during_a_compile_leave_its_result_stale(explore):
    backend = HandMadeBackend()
    explorer = explore(backend, Knobs("regional"))
    backend.gate.clear()
    explorer.compile()
    explorer.mode = "full"
    backend.gate.set()
    assert explorer.wait(30)
    assert explorer.report.mode == "regional"
    assert explorer.plan.mode == "full"
    assert explorer.stale


def test_a_closed_explorer_has_stopped_its_worker(explore):
    explorer = explore()
    explorer.close()
    assert not explorer.busy
    assert not explorer.compile()


def test_settings_are_listed_when_their_tab_is_opened(explore):
    explorer = explore()
    assert "settings" not in explorer._backend.calls
    explorer._tabs.bring("Settings")
    assert explorer._backend.calls[-1] == "settings"


def test_a_plan_that_takes_long_shows_that_something_goes_on(explore, monkeypatch):
    explorer = explore()
    planned, shown = explorer._backend.plan, threading.Event()
    monkeypatch.setattr("hyperviz.widgets.explorer.SLOW_S", 0.01)
    begin = explorer._progress.begin
    explorer._progress.begin = lambda what: (begin(what), shown.set())
    monkeypatch.setattr(explorer._backend, "plan", lambda knobs: shown.wait(30) and planned(knobs))
    explorer.mode = "regional"
    assert shown.is_set() and explorer.plan.mode == "regional"
    assert explorer._progress.value == ""


def test_what_was_not_run_says_so_above_everything_and_asks_for_no_compile(explore):
    backend = HandMadeBackend()
    backend.graph = dataclasses.replace(backend.graph, fake_world=64)
    explorer = explore(backend, Knobs("regional"))
    assert explorer._cards.value.startswith('<p class="hv-not-run">fake world of 64 ranks: not run</p>')
    assert explorer._cards.value.count("Not run") == 2 and "Not known yet" not in explorer._cards.value
    for tab in (explorer._tabs._timings, explorer._tabs._equality):
        assert "fake world of 64 ranks: not run" in tab.children[1].value
    compiled(explorer)
    assert backend.calls == ["plan", "compile"] and explorer.report is not None
    assert "Compiled. There is nothing to compare or to time: fake world of 64 ranks: not run." in explorer._message.value
