"""The graph view's traits: recoloured without a new layout, selected from both sides."""

import gzip

import pytest
import traitlets
from hand_made import graph, plan

from hyperviz import render
from hyperviz.widgets import GraphView, Knobs
from hyperviz.widgets.facts import unpack


@pytest.fixture
def view():
    view = GraphView(plan(Knobs("off"), graph()))
    yield view
    view.close()


def changes(view, act):
    names = []
    view.observe(lambda change: names.append(change["name"]), names=traitlets.All)
    act()
    view.unobserve_all()
    return names


def test_the_picture_holds_every_node(view):
    picture = gzip.decompress(view._picture).decode()
    assert all(f'data-name="{node.name}"' in picture for node in view.plan.graph.nodes)


def test_another_plan_of_the_same_graph_sends_nothing_but_its_colours(view):
    regional = plan(Knobs("regional"), graph())
    assert changes(view, lambda: setattr(view, "plan", regional)) == ["_overlay"]
    assert unpack(view._overlay)["nodes"]["mm_0"][:2] == ["compute", 0]
    assert view.plan is regional


def test_another_graph_brings_a_new_picture_and_forgets_the_selection(view):
    view.selected = "mm_1"
    names = changes(view, lambda: setattr(view, "plan", plan(Knobs("off"), graph(1))))
    assert {"_picture", "_facts", "selected"} <= set(names)
    assert view.selected == ""


def test_a_name_that_is_no_node_is_refused_with_the_near_one(view):
    view.selected = "relu_1"
    with pytest.raises(ValueError, match=r"selected must be a node of the graph, got 'relu_11'; did you mean 'relu_1'\?"):
        view.selected = "relu_11"
    assert view.selected == "relu_1"
    assert view.node.target == "aten.relu.default"


def test_where_no_picture_can_be_drawn_there_is_a_sentence_and_the_table(monkeypatch):
    monkeypatch.setattr(render, "svg", lambda _: 1 / 0)
    view = GraphView(plan(Knobs("off"), graph()))
    assert view.tabular
    assert view.notice == "The picture cannot be drawn (division by zero); the table shows the same facts."
    assert len(unpack(view._facts)["nodes"]) == len(view.plan.graph)


def test_the_module_is_small_and_reaches_for_nothing_outside(view):
    assert len(view._esm.encode()) < 100_000
    for word in ("http:", "https:", "import ", "import(", "document.addEventListener", "window.addEventListener", "innerHTML", "eval("):
        assert word not in view._esm.replace("http://www.w3.org/2000/svg", ""), word
