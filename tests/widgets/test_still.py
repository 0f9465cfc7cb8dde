"""The still picture that stays in a saved notebook."""

import base64
import json

import pytest
from hand_made import HandMadeBackend, graph, plan

from hyperviz import render
from hyperviz.widgets import Explorer, GraphView, Knobs, still

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def shown(monkeypatch):
    """What was displayed, and what was updated, as (MIME bundle, display id)."""
    bundles = []
    monkeypatch.setattr(still, "display", lambda data, metadata=None, raw=True, display_id=None: bundles.append((data, display_id)))
    monkeypatch.setattr(still, "update_display", lambda data, metadata=None, raw=True, display_id=None: bundles.append((data, display_id)))
    return bundles


@pytest.fixture
def view_of():
    """A function that shows a plan of so many layers, and waits until everything is drawn."""
    views = []

    def view_of(num_layers=2):
        views.append(GraphView(plan(Knobs("regional"), graph(num_layers))))
        views[-1]._ipython_display_()
        views[-1].still.wait(120)
        return views[-1]

    yield view_of
    for view in views:
        view.close()


def test_a_picture_and_a_caption_come_before_the_widget(shown, view_of):
    view = view_of()
    (picture, _), (caption, _), (live, _) = shown[:3]
    assert picture["image/svg+xml"] == render.svg(view.plan, still=True)
    assert picture["text/plain"] == str(view.plan)
    assert f"hv-of-{view.still.key}" in caption["text/html"]
    assert "run the cell for the live view" in caption["text/plain"]
    assert live[WIDGET]["model_id"] == view.model_id
    assert WIDGET not in picture and WIDGET not in caption


def test_the_saved_picture_follows_the_knobs_once_it_is_shown(shown):
    explorer = Explorer(HandMadeBackend())
    explorer.mode = "full"
    assert shown == []
    explorer._ipython_display_()
    explorer.mode = "regional"
    explorer.view.still.wait(120)
    last = [data for data, key in shown if key == f"hv-picture-{explorer.view.still.key}"][-1]
    assert last["image/svg+xml"] == render.svg(explorer.plan, still=True)
    assert base64.b64decode(last["image/png"]).startswith(b"\x89PNG")
    explorer.close()
    shown.clear()
    explorer.mode = "off"
    assert shown == []


@pytest.mark.parametrize("num_layers", [40, 300])
def test_a_display_grows_a_saved_notebook_by_less_than_300_kilobytes(shown, view_of, num_layers):
    view = view_of(num_layers)
    last = {key: data for data, key in shown}
    assert "image/png" in last[f"hv-picture-{view.still.key}"]
    assert len(json.dumps(list(last.values()))) < 300_000


def test_a_picture_that_fails_leaves_the_live_view(shown, view_of, monkeypatch):
    monkeypatch.setattr(render, "svg", lambda _, **how: 1 / 0)
    monkeypatch.setattr(render, "png", lambda _, **how: 1 / 0)
    view = view_of()
    assert any(WIDGET in data for data, _ in shown)
    assert shown[-2][0] == {"text/plain": str(view.plan)}
