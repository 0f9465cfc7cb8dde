"""Timings and equality as figures."""

import pytest

from hyperviz.render import plot_equality, plot_timings
from hyperviz.snapshot import Equality, OutputEquality, Timing, Timings

FAST = tuple(50 + 0.1 * (i % 7) for i in range(40))
SLOW = tuple(100 + 0.1 * (i % 5) for i in range(40))


def timings(**samples):
    candidates = [Timing(name, times, times[0], min(times), max(times), 10**6) for name, times in samples.items()]
    return Timings(tuple(candidates), 0.95, {"threads": "2"})


def words(figure):
    return [text.get_text() for axes in (figure, *figure.axes) for text in axes.texts] + [axes.get_xlabel() for axes in figure.axes]


def test_timings_say_how_much_faster_and_when_nothing_was_shown():
    said = words(plot_timings(timings(eager=SLOW, regional=FAST, again=SLOW)))
    assert "regional is faster" in said
    assert "no difference shown" in said
    assert "baseline" in said
    assert "medians of 40 interleaved rounds, 95% intervals" in said
    assert "times as fast as eager" in said
    assert any(text.startswith(("1.99x", "2.00x")) for text in said)
    assert "threads: 2" in said


def test_every_round_is_drawn_and_time_begins_at_zero():
    axes = plot_timings(timings(eager=SLOW, regional=FAST)).axes[0]
    assert axes.get_xlim()[0] == 0
    assert [tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 40] == [SLOW, FAST]


def equality(*verdicts):
    ulps = {"bitwise": 0, "rounding": 3, "random": None, "structural": None, "wrong": 10**6}
    outputs = tuple(OutputEquality(f"grad of w{i}", verdict, "why", 100, 7, ulps[verdict], 1e-7) for i, verdict in enumerate(verdicts))
    return Equality(verdicts[-1] if verdicts else "bitwise", outputs)


def test_equality_has_a_row_and_a_mark_of_its_own_shape_for_each_verdict():
    figure = plot_equality(equality("bitwise", "rounding", "random", "structural", "wrong"))
    marks = [line.get_marker() for line in figure.axes[0].lines if line.get_marker() not in ("None", "")]
    assert marks == ["o", "^", "D", "s", "X"]
    said = words(figure)
    assert "compiled against eager: wrong" in said
    assert "5 outputs: 1 equal bit for bit, 1 rounding, 1 random by design, 1 another structure, 1 wrong" in said
    assert "rounding · 7 of 100 differ, by at most 1e-07" in said
    assert any("seed 0 · NaN compared as bits" in text for text in said)


def test_more_outputs_than_a_slide_holds_are_counted_the_worst_kept():
    figure = plot_equality(equality(*["bitwise"] * 60, *["rounding"] * 30, "wrong"))
    said = words(figure)
    assert sum(text.startswith("grad of") for text in said) == 44
    assert any("47 more, none of them worse: 47 equal bit for bit." in text for text in said)
    assert "grad of w90" in said


def test_no_outputs_is_a_figure_too():
    assert "no outputs" in words(plot_equality(equality()))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_of_a_program_are_words_not_mathematics(theme, tmp_path):
    hostile = "$\\frac{1}{0}$ 漢字 👩 " + "x" * 500
    one = OutputEquality(hostile, "wrong", hostile, 1, 1, 1, 1.0)
    plot_equality(Equality("wrong", (one,), (hostile, hostile), notes=(hostile,)), theme=theme).savefig(tmp_path / "e.png")
    plot_timings(timings(**{hostile: SLOW, "b": FAST}), theme=theme).savefig(tmp_path / "t.png")


def test_nothing_to_draw_and_unknown_themes_are_refused():
    with pytest.raises(ValueError, match="at least one candidate to be drawn, got none"):
        plot_timings(Timings(()))
    with pytest.raises(ValueError, match="theme must be one of light, dark, got 'sepia'"):
        plot_timings(timings(eager=SLOW), theme="sepia")
    with pytest.raises(ValueError, match="theme must be one of light, dark, got 'sepia'"):
        plot_equality(equality(), theme="sepia")


def test_figures_touch_no_state_of_the_process():
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot_timings(timings(eager=SLOW)), plot_equality(equality("bitwise"))
    assert dict(matplotlib.rcParams) == before
    pyplot = __import__("sys").modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []
