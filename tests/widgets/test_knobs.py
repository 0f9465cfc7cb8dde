"""Knobs: what they hold and what they refuse."""

import pytest

from hyperviz.widgets import Knobs


def test_equal_knobs_are_equal_whatever_mapping_their_settings_came_in():
    assert Knobs("full", settings={"a": 1}) == Knobs("full").replace(settings={"a": 1})
    assert Knobs("full", settings={"a": 1}) != Knobs("full")


def test_an_unknown_mode_is_refused_with_the_near_one():
    with pytest.raises(ValueError, match=r"mode must be one of 'off', 'regional', 'full', got 'regonal'; did you mean 'regional'\?"):
        Knobs("regonal")
    with pytest.raises(ValueError, match=r"region strategy must be one of .*, got 'x'"):
        Knobs(strategy="x")


def test_settings_are_a_copy_that_nobody_can_write_to():
    mine: dict[str, object] = {"a": 1}
    knobs = Knobs(settings=mine)
    mine["a"] = 2
    assert knobs.settings == {"a": 1}
    with pytest.raises(TypeError):
        knobs.settings["a"] = 3  # pyright: ignore[reportIndexIssue]


def test_knobs_say_what_they_are_in_a_few_words():
    assert str(Knobs("regional", settings={"max_autotune": True})) == "regional · runs · max_autotune=True"
    assert str(Knobs("off")) == "off"
