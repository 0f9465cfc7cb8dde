"""Layout: in a child process with a limit, every node placed, never a blank."""

import statistics

import pytest

from hyperviz.render import dot_child, layout, svg
from hyperviz.render import layout as layout_of
from hyperviz.snapshot import GraphSnapshot, Plan


def overlaps(first, second):
    (ax, ay, aw, ah), (bx, by, bw, bh) = first, second
    return ax + aw > bx + 0.5 and bx + bw > ax + 0.5 and ay + ah > by + 0.5 and by + bh > ay + 0.5


def middle(box):
    return box[1] + box[3] / 2


def test_every_node_has_a_box_inside_the_picture_and_none_overlap(make_deep):
    graph = make_deep(12)
    placed = layout(graph)
    assert set(placed.boxes) == {node.name for node in graph.nodes}
    boxes = sorted(placed.boxes.values())
    assert not any(overlaps(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    width, height = placed.size
    assert all(x >= 0 and x + w <= width + 1 and y >= 0 and y + h <= height + 1 for x, y, w, h in boxes)


def test_forward_flows_down_and_backward_up_beside_it(step):
    boxes = layout(step).boxes
    assert middle(boxes["gather"]) < middle(boxes["wait"]) < middle(boxes["mm"]) < middle(boxes["loss"]) < middle(boxes["output"])
    assert middle(boxes["ones"]) > middle(boxes["grad"]) > middle(boxes["scatter"]) > middle(boxes["wait_1"])
    assert max(boxes[name][0] for name in ("mm", "loss", "copy_")) < min(boxes[name][0] for name in ("ones", "grad", "scatter"))
    assert [panel.heading for panel in layout(step).panels] == ["Forward ↓", "Backward ↑"]


def test_saved_values_are_no_layout_edges_and_are_short(make_deep):
    graph = make_deep(30)
    placed = layout(graph)
    saved = [(a.name, b.name) for a, b in graph.saved_values()]
    assert not set(saved) & set(placed.routes)
    # Fold neighbours stand beside each other, so a saved value seldom leaves its column.
    assert statistics.median(abs(middle(placed.boxes[a]) - middle(placed.boxes[b])) for a, b in saved) < 150
    assert placed.size[0] / placed.size[1] < 4


def test_a_placeholder_stands_above_its_first_reader_only(make_deep):
    placed = layout(make_deep(4))
    assert ("w2", "f2_3") in placed.routes
    assert ("w2", "b2_3") not in placed.routes
    assert middle(placed.boxes["w2"]) < middle(placed.boxes["f2_3"])


def test_the_layout_is_of_the_graph_and_is_remembered(plan, off):
    assert layout(plan.graph) is layout(off.graph)


def test_too_slow_is_coarse_with_a_sentence_and_not_remembered(make_chain):
    graph = make_chain(40)
    coarse = layout(graph, timeout_s=1e-6)
    assert set(coarse.boxes) == {node.name for node in graph.nodes}
    assert coarse.notes == ("The layout is coarse, one row for each level: Graphviz needed longer than 1e-06 s.",)
    assert coarse.notes[0] in svg(Plan.of_graph(graph), coarse)
    assert layout(graph).notes == ()


@pytest.mark.parametrize(
    ("child", "words"),
    [
        ("raise SystemExit('out of memory')", "Graphviz failed with exit code 1 (out of memory)"),
        ("import os; os.abort()", "Graphviz failed with exit code -6"),
        ("print('no answer')", "Graphviz gave no layout"),
    ],
)
def test_a_child_that_dies_leaves_a_coarse_picture_and_a_sentence(make_chain, monkeypatch, child, words):
    monkeypatch.setattr(dot_child, "_CHILD", child)
    graph = make_chain(7)
    placed = layout(graph)
    assert len(placed.boxes) == 9
    assert words in placed.notes[0]


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_time_limit_is_above_zero(step, timeout_s):
    with pytest.raises(ValueError, match="timeout_s must be above 0"):
        layout(step, timeout_s=timeout_s)


def test_an_empty_graph_and_one_node():
    assert layout(GraphSnapshot(())).boxes == {}
    assert "This graph has no nodes." in svg(Plan.of_graph(GraphSnapshot(())))


def test_pieces_without_edges_stand_where_they_run(make_node):
    names = [f"alone_{index}" for index in range(60)]
    graph = GraphSnapshot(tuple(make_node(name, phase="") for name in names))
    placed = layout(graph)
    assert placed.size[0] < 3000
    columns = {}
    for name in names:
        columns.setdefault(placed.boxes[name][0], []).append(middle(placed.boxes[name]))
    assert all(heights == sorted(heights) for heights in columns.values())


def test_parameters_that_nothing_reads_stand_in_rows(make_node):
    pills = tuple(make_node(f"p{index}", op="placeholder", target=f"p{index}", kind="parameter", phase="") for index in range(50))
    placed = layout(GraphSnapshot((*pills, make_node("relu", ["p49"], phase=""))))
    assert len(placed.boxes) == 51
    assert placed.size[0] < 900


def test_a_graph_without_phases_is_one_panel_and_long_edges_do_not_shape_it(make_node):
    nodes = [make_node("relu_0", phase="")]
    nodes += [make_node(f"relu_{i}", [f"relu_{i - 1}", *(["relu_0"] if i > 100 else [])], phase="") for i in range(1, 120)]
    placed = layout_of(GraphSnapshot(tuple(nodes)))
    assert len(placed.boxes) == 120
    assert ("relu_0", "relu_101") not in placed.routes and ("relu_0", "relu_1") in placed.routes
    assert {panel.phase for panel in placed.panels} == {""}


def test_brackets_name_the_blocks_of_the_model(make_deep):
    placed = layout(make_deep(4))
    assert {band.module for band in placed.bands} == {"blocks.0", "blocks.1", "blocks.2", "blocks.3"}


def test_every_edge_runs_from_its_producer_to_its_consumer_also_around_a_fold(make_deep):
    placed = layout(make_deep(30))
    assert len(placed.panels) > 2
    for (start, end), chain in placed.routes.items():
        assert len(chain) % 3 == 1
        for name, (x, y) in ((start, chain[0]), (end, chain[-1])):
            left, top, w, h = placed.boxes[name]
            assert left - 2 <= x <= left + w + 2 and top - 2 <= y <= top + h + 2, (start, end)


def test_a_fold_cuts_between_rows(make_deep):
    placed = layout(make_deep(30))
    for panel in placed.panels:
        left, top, w, h = panel.box
        inside = [box for box in placed.boxes.values() if left <= box[0] and box[0] + box[2] <= left + w]
        assert inside and all(top <= y and y + height <= top + h for _, y, _, height in inside)
