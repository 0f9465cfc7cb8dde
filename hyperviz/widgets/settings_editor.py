"""An editor for the compiler's settings: find one, read what it does, change it; what the compiler would refuse is refused here."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as widgets

from hyperviz.snapshot import Setting
from hyperviz.widgets.backend import Backend
from hyperviz.widgets.markup import Html, tag
from hyperviz.widgets.units import count

HINT = tag("p", "Find a setting by its name or by what it does, then choose it to read about it and change it.", kind="hv-hint")


class SettingsEditor(widgets.VBox):
    """Edits a mapping of settings; the list of what there is comes from the backend when it is first opened."""

    def __init__(self, backend: Backend, on_change: Callable[[dict[str, object]], None]) -> None:
        self._backend, self._on_change = backend, on_change
        self._known: dict[str, Setting] = {}
        self._values: dict[str, object] = {}
        self._search = widgets.Text(placeholder="Search settings…", continuous_update=True)
        self._found = widgets.Select(options=[], rows=10)
        self._about = widgets.HTML(HINT)
        self._field = widgets.Box()
        self._error = widgets.HTML()
        self._reset = widgets.Button(description="Reset to default", tooltip="Leave this setting as torch has it")
        self._changed = widgets.VBox()
        self._search.observe(self._on_search, "value")
        self._found.observe(self._on_choose, "value")
        self._reset.on_click(lambda _: self._remove(self._found.value))
        super().__init__([self._body(), self._changed])
        self.add_class("hv-settings")
        self._list_changed()

    @property
    def values(self) -> dict[str, object]:
        """Setting → value, for those that were changed."""
        return dict(self._values)

    def load(self) -> None:
        """Asks the backend what there is; only the first call does."""
        if self._known:
            return
        try:
            self._known = {setting.key: setting for setting in self._backend.settings()}
        except Exception as error:  # shown where the person is looking; the next opening tries again
            self._about.value = tag("p", f"The settings cannot be listed: {error}", kind="hv-error", role="alert")
            return
        self._search.placeholder = f"Search {count(len(self._known), 'setting')}…"
        self._on_search()

    def show(self, values: Mapping[str, object]) -> None:
        """Takes these settings over, without telling anyone."""
        self._values = dict(values)
        self._list_changed()
        self._on_choose()

    def change(self, key: str, text: str) -> None:
        """Sets a setting as a person would, from text; a refusal is shown beside the field."""
        try:
            value = self._backend.parse_setting(key, text)
        except Exception as error:  # whatever refuses it, a person must read why
            self._refuse(str(error))
            return
        if key not in self._values and key in self._known and repr(value) == self._known[key].default:
            self._refuse(f"{value!r} is the default of {key!r}: no effect.")
            return
        self._refuse("")
        before, self._values = self._values, {**self._values, key: value}
        self._tell(before)

    def _body(self) -> widgets.Box:
        left = widgets.VBox([self._search, self._found]).add_class("hv-settings-list")
        beside = widgets.HBox([self._field, self._reset]).add_class("hv-settings-field")
        right = widgets.VBox([self._about, beside, self._error]).add_class("hv-settings-about")
        self._field.layout.display = self._reset.layout.display = "none"
        return widgets.HBox([left, right]).add_class("hv-settings-body")

    def _remove(self, key: str | None) -> None:
        before, self._values = self._values, {name: value for name, value in self._values.items() if name != key}
        self._refuse("")
        self._tell(before)

    def _tell(self, before: dict[str, object]) -> None:
        self._list_changed()
        self._on_choose()
        if before != self._values:
            self._on_change(self.values)

    def _refuse(self, words: str) -> None:
        self._error.value = tag("p", words, kind="hv-error", role="alert") if words else ""

    def _on_search(self, _: Any = None) -> None:
        words = self._search.value.strip().lower().split()
        found = [key for key, setting in self._known.items() if all(word in f"{key} {setting.doc}".lower() for word in words)]
        found.sort(key=lambda key: not all(word in key.lower() for word in words))  # a name says more than a sentence
        near = [] if found else difflib.get_close_matches(self._search.value.strip(), self._known, n=5, cutoff=0.4)
        self._about.value = _nothing_found(self._search.value, bool(near)) if not found and self._known else HINT
        chosen = self._found.value
        self._found.options = found or near
        self._found.value = chosen if chosen in self._found.options else None

    def _on_choose(self, _: Any = None) -> None:
        setting = self._known.get(self._found.value or "")
        self._refuse("")
        display = "" if setting else "none"
        self._field.layout.display = self._reset.layout.display = display
        if setting is None:
            return
        self._about.value = _about(setting)
        self._reset.disabled = setting.key not in self._values
        self._field.children = [self._field_for(setting)]

    def _field_for(self, setting: Setting) -> widgets.Widget:
        """A menu where torch lists the values, otherwise a line of text that counts when it is left or Enter is pressed."""
        text = repr(self._values[setting.key]) if setting.key in self._values else setting.default
        choices = setting.choices or (("True", "False") if setting.type == "bool" else ())
        if choices:
            field = widgets.Dropdown(options=list(dict.fromkeys([*choices, text])), value=text, description="Value")
        else:
            field = widgets.Text(text, continuous_update=False, description="Value")
        field.observe(lambda change: self.change(setting.key, change["new"]), "value")
        return field

    def _list_changed(self) -> None:
        head = widgets.HTML(tag("h4", "Changed settings" if self._values else "No setting is changed: torch's defaults apply."))
        self._changed.children = [head, *(self._changed_row(key, value) for key, value in self._values.items())]

    def _changed_row(self, key: str, value: object) -> widgets.Widget:
        button = widgets.Button(description="×", tooltip=f"Reset {key}").add_class("hv-small")
        button.on_click(lambda _: self._remove(key))
        return widgets.HBox([button, widgets.HTML(tag("code", f"{key} = {value!r}"))]).add_class("hv-changed")


def _about(setting: Setting) -> Html:
    facts = tag("p", "type ", tag("code", setting.type), " · default ", tag("code", setting.default), kind="hv-facts")
    doc = tag("p", setting.doc, kind="hv-doc") if setting.doc else tag("p", "torch says nothing about it.", kind="hv-hint")
    return tag("div", tag("h4", tag("code", setting.key)), facts, doc)


def _nothing_found(words: str, near: bool) -> Html:
    return tag("p", f"No setting matches {words!r}. " + ("The nearest names are listed." if near else ""), kind="hv-hint")
