"""The settings editor: searched, typed, refused with the near miss."""

import pytest
from hand_made import HandMadeBackend

from hyperviz.widgets.settings_editor import SettingsEditor


@pytest.fixture
def backend():
    return HandMadeBackend()


@pytest.fixture
def told():
    return []


@pytest.fixture
def editor(backend, told):
    editor = SettingsEditor(backend, told.append)
    editor.load()
    return editor


def test_settings_are_asked_for_when_the_editor_is_first_opened_and_once(backend):
    editor = SettingsEditor(backend, print)
    assert backend.calls == []
    editor.load()
    editor.load()
    assert backend.calls == ["settings"]
    assert editor._search.placeholder == "Search 5 settings…"


def test_search_finds_names_first_and_then_descriptions(editor):
    editor._search.value = "autotun"
    assert editor._found.options == ("max_autotune",)
    editor._search.value = "fus"
    assert editor._found.options == ("epilogue_fusion", "max_fusion_size")
    editor._search.value = "output code"
    assert editor._found.options == ("triton.cudagraphs",)


def test_what_is_chosen_stays_chosen_while_a_search_still_lists_it(editor):
    editor._found.value = "max_autotune"
    editor._search.value = "autotune"
    assert editor._found.value == "max_autotune"
    editor._search.value = "fusion"
    assert editor._found.value is None


def test_a_misspelt_name_brings_the_near_ones(editor):
    editor._search.value = "max_autotunne"
    assert editor._found.options[0] == "max_autotune"
    assert "No setting matches &#x27;max_autotunne&#x27;. The nearest names are listed." in editor._about.value


def test_a_chosen_setting_shows_its_type_default_and_description(editor):
    editor._found.value = "max_fusion_size"
    assert "type <code>int</code> · default <code>64</code>" in editor._about.value
    assert "the most nodes that one fusion holds" in editor._about.value


def test_a_value_that_fits_is_taken_and_told(editor, told):
    editor._found.value = "max_fusion_size"
    editor._field.children[0].value = "8"
    assert told == [{"max_fusion_size": 8}]
    assert editor._error.value == ""
    assert "max_fusion_size = 8" in editor._changed.children[1].children[1].value


def test_a_value_that_does_not_fit_is_refused_beside_the_field(editor, told):
    editor._found.value = "max_fusion_size"
    editor._field.children[0].value = "'many'"
    assert told == []
    assert "must be int, got &#x27;many&#x27;" in editor._error.value
    editor.change("max_autotun", "True")
    assert "did you mean &#x27;max_autotune&#x27;?" in editor._error.value


def test_a_default_is_no_change_and_says_so(editor, told):
    editor.change("max_autotune", "False")
    assert told == []
    assert "False is the default of &#x27;max_autotune&#x27;: no effect." in editor._error.value


def test_reset_takes_a_change_back(editor, told):
    editor._found.value = "max_autotune"
    editor._field.children[0].value = "True"
    assert not editor._reset.disabled
    editor._reset.click()
    assert told == [{"max_autotune": True}, {}]
    assert editor._field.children[0].value == "False"


def test_settings_that_cannot_be_listed_are_an_error_in_the_editor(backend, monkeypatch):
    monkeypatch.setattr(backend, "settings", lambda: 1 / 0)
    editor = SettingsEditor(backend, print)
    editor.load()
    assert "The settings cannot be listed: division by zero" in editor._about.value
