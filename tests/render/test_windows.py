"""Collectives paired with their waits: as rows, in the text, in the pictures, and in what a live view is told."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from hyperviz.render import communication, dot, html, layout, overlay, pdf, png, svg, text
from hyperviz.snapshot import Collective, GraphSnapshot, Plan, Region

SVG = "{http://www.w3.org/2000/svg}"


def pairs(picture):
    paths = [one for one in ET.fromstring(picture).iter(f"{SVG}path") if one.get("class") == "hv-edge hv-pair"]
    return [(one.get("data-from"), one.get("data-to")) for one in paths if one.get("data-from")]


def test_a_row_says_what_is_moved_where_and_how_much(plan):
    gather, scatter = communication(plan)
    assert (gather.number, gather.what, gather.group, gather.window) == (0, "blocks.0.fc.weight", "0 (8 ranks)", "kept")
    assert (scatter.number, scatter.what, scatter.phase, scatter.window) == (1, "blocks.0", "backward", "empty")


def test_a_reduction_that_answers_a_gather_moves_the_gradients_of_its_parameters(plan):
    nodes = tuple(replace(node, twin="gather") if node.name == "scatter" else node for node in plan.graph.nodes)
    assert communication(replace(plan, graph=replace(plan.graph, nodes=nodes)))[1].moves == ("blocks.0.fc.weight",)


def test_a_gather_of_activations_names_no_parameter(plan):
    nodes = tuple(replace(node, inputs=("x",)) if node.name == "gather" else node for node in plan.graph.nodes)
    assert communication(replace(plan, graph=replace(plan.graph, nodes=nodes)))[0].what == "blocks.0"


@pytest.mark.parametrize(
    ("regions", "window"),
    [
        ((), "kept"),
        ((("relu",),), "kept"),
        ((("relu", "mm"),), "lost"),
        ((("gather", "relu", "wait"),), "Inductor decides"),
    ],
)
def test_a_window_is_kept_where_its_compute_must_stay_inside(plan, regions, window):
    regions = tuple(Region(f"region_{number}", nodes, "forward") for number, nodes in enumerate(regions))
    assert communication(replace(plan, regions=regions))[0].window == window


def test_a_window_is_kept_in_part(make_node):
    nodes = (make_node("g"), make_node("a"), make_node("b"), make_node("w", ["g"]), make_node("c", ["b"]))
    graph = GraphSnapshot(nodes, collectives=(Collective("g", ("w",), "all_reduce", compute_inside=("a", "b")),))
    fused = replace(Plan.of_graph(graph), regions=(Region("region_0", ("b", "c")),))
    assert communication(fused)[0].window == "1 of 2 stay"


def test_a_collective_without_a_wait_is_said_to_have_none(make_node):
    graph = GraphSnapshot((make_node("g"), make_node("a")), collectives=(Collective("g", (), "all_reduce", compute_inside=("a",)),))
    row = communication(Plan.of_graph(graph))[0]
    assert (row.window, row.group, row.what) == ("never waited for", "", "")


def test_the_text_lists_every_pair(plan):
    (line,) = [line for line in text(plan).splitlines() if line.startswith("0 all_gather")]
    row = [cell.strip() for cell in line.split("  ") if cell.strip()]
    assert row == [
        "0 all_gather",
        "forward",
        "blocks.0.fc.weight",
        "0 (8 ranks)",
        "192 B",
        "blocks.0 gather",
        "gather",
        "wait",
        "1",
        "kept",
    ]


def test_the_picture_ties_each_launch_to_its_wait_and_moves_nothing(plan):
    assert pairs(svg(plan)) == [("gather", "wait"), ("scatter", "wait_1")]
    apart = replace(plan, graph=replace(plan.graph, collectives=()))
    assert pairs(svg(apart)) == []
    assert layout(plan.graph).boxes == layout(apart.graph).boxes
    assert "a collective and its wait" in svg(plan) and "a collective and its wait" not in svg(apart)
    assert png(plan) != png(apart) and len(pdf(plan)) > len(pdf(apart))
    assert '"hv-edge hv-pair"' in svg(plan, still=True)


def test_a_wait_that_does_not_read_its_launch_is_tied_all_the_same(plan):
    nodes = tuple(replace(node, inputs=("w",)) if node.name == "wait" else node for node in plan.graph.nodes)
    assert ("gather", "wait") in pairs(svg(replace(plan, graph=replace(plan.graph, nodes=nodes))))


def test_dot_ties_them_too(plan):
    number = {node.name: f"n{index}" for index, node in enumerate(plan.graph.nodes)}
    (line,) = [line for line in dot(plan).splitlines() if f"{number['gather']} -> {number['wait']}" in line]
    assert "penwidth" in line


def test_a_live_view_is_told_who_belongs_to_whom(plan):
    names = [node.name for node in plan.graph.nodes]
    gather, scatter = overlay(plan)["collectives"]
    assert (gather["launch"], gather["waits"], gather["inside"]) == ("gather", ["wait"], [[names.index("relu")] * 2])
    assert (scatter["inside"], scatter["window"], scatter["bytes"]) == ([], "empty", 192)


def test_the_report_has_the_table(plan):
    page = html({"regional": plan})
    section = page.partition('id="communication"')[2].partition("</section>")[0]
    for words in ("0 all_gather", "blocks.0.fc.weight", "0 (8 ranks)", "192 B", "blocks.0 gather", "kept", "reduce_scatter"):
        assert words in section
    silent = replace(plan, graph=replace(plan.graph, collectives=()))
    assert 'id="communication"' not in html({"regional": silent})


def test_where_the_plan_knows_when_a_region_runs_that_decides(plan):
    fused = replace(plan, regions=(Region("region_0", ("relu", "mm"), "forward"),))
    names = [node.name for node in plan.graph.nodes if node.name not in ("relu", "mm", "wait")]
    at = names.index("gather") + 1
    inside = (*names[:at], "relu", "mm", "wait", *names[at:])
    behind = (*names[:at], "wait", "relu", "mm", *names[at:])
    assert communication(replace(fused, order=inside))[0].window == "kept"
    assert communication(replace(fused, order=behind))[0].window == "lost"
