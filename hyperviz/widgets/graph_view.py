"""The graph as a widget: a picture to pan, search and walk through, an inspector, and a table with the same facts."""

from __future__ import annotations

import difflib
import gzip
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from hyperviz import render
from hyperviz.snapshot import GraphSnapshot, NodeSnapshot, Plan
from hyperviz.widgets.facts import graph_facts, pack
from hyperviz.widgets.still import Still


def _text(room: str, name: str) -> str:
    return files(f"hyperviz.{room}").joinpath(name).read_text(encoding="utf-8")


class GraphView(anywidget.AnyWidget):
    """A plan's graph, live in a notebook.

    Everything shown is state: a second display shows the same selection, search and colours. Assigning ``plan`` recolours;
    nodes keep their places as long as the graph is the same one, and nothing but the colours travels to the browser.

    Attributes:
        selected: name of the selected node, or ``""``. Set it to select; a click sets it.
        search: what is searched for; nodes whose name, operator, module or source holds it stay lit.
        tabular: whether the table is shown instead of the picture.
        notice: a sentence shown above the picture, or ``""``.

    Raises:
        ValueError: if ``selected`` is set to a name that is not in the graph.
    """

    # One module, no build: what pictures can do stands beside the renderer, which uses it in reports too.
    _esm = _text("render", "view.js") + "".join(_text("widgets", f"{name}.js") for name in ("surroundings", "inspector", "graph_view"))
    _css = _text("widgets", "graph_view.css") + _text("widgets", "evidence.css")

    _picture = traitlets.Bytes().tag(sync=True)
    _facts = traitlets.Bytes().tag(sync=True)
    _overlay = traitlets.Bytes().tag(sync=True)
    _still = traitlets.Unicode().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)
    search = traitlets.Unicode().tag(sync=True)
    tabular = traitlets.Bool(False).tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)

    def __init__(self, plan: Plan, **kwargs: Any) -> None:
        self._current = self._drawn = plan
        self.still = Still()
        super().__init__(_still=self.still.key, **{**_state(plan), **kwargs})

    @property
    def plan(self) -> Plan:
        """The plan that is shown."""
        return self._current

    @plan.setter
    def plan(self, plan: Plan) -> None:
        if _fits(plan.graph, self._drawn.graph):
            state = {"_overlay": pack(render.overlay(plan))}
        else:
            kept = self.selected if self.selected in plan.graph.by_name() else ""
            state = {"selected": kept, **_state(plan)}
            self._drawn = plan
        self._current = plan
        with self.hold_sync():
            for name, value in state.items():
                self.set_trait(name, value)

    @property
    def node(self) -> NodeSnapshot | None:
        """The selected node."""
        return self._current.graph.by_name().get(self.selected)

    def on_compare(self, act: Callable[[str, str], None]) -> None:
        """Calls ``act(first, second)`` when a person chooses two nodes: with Shift and a click, or with the key x on each."""

        def heard(_: Any, content: Any, __: Any) -> None:
            if isinstance(content, dict) and content.get("kind") == "compare":
                act(str(content.get("first", "")), str(content.get("second", "")))

        self.on_msg(heard)

    def _ipython_display_(self, **_: Any) -> None:
        self.still.show(self.plan, str(self.plan), self)

    @traitlets.validate("selected")
    def _check_selected(self, proposal: dict[str, Any]) -> str:
        name, nodes = proposal["value"], self._current.graph.by_name()
        if name and name not in nodes:
            near = difflib.get_close_matches(name, nodes, n=1)
            raise ValueError(f"selected must be a node of the graph, got {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        return name


def _fits(graph: GraphSnapshot, drawn: GraphSnapshot) -> bool:
    """Whether a graph's plans can recolour the picture of another: they are equal, but that one was run and the other was not yet."""
    if graph is drawn or graph == drawn:
        return True
    was_run = drawn.fake_world is not None and graph.fake_world is None
    return was_run and replace(graph, fake_world=drawn.fake_world, versions=drawn.versions) == drawn


def _state(plan: Plan) -> dict[str, Any]:
    """Everything that a browser needs of a plan; where no picture can be drawn, the table and a sentence take its place."""
    state = {"_facts": pack(graph_facts(plan.graph)), "_overlay": pack(render.overlay(plan))}
    try:
        picture = gzip.compress(render.svg(plan).encode(), mtime=0)
    except Exception as error:  # whatever the drawing stumbles on, the facts are still true
        notice = f"The picture cannot be drawn ({error}); the table shows the same facts."
        return {**state, "_picture": b"", "tabular": True, "notice": notice}
    return {**state, "_picture": picture, "notice": ""}
