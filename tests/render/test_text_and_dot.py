"""The picture's textual twins."""

import pygraphviz
import pytest

from hyperviz.render import dot, plan_table, text
from hyperviz.snapshot import GraphSnapshot, Plan

HOSTILE = (
    "a -> b",
    "{x|y}",
    "<b>bold</b>",
    "</script>",
    'quo"te',
    "back\\slash\\n\\N",
    "line\nbreak",
    "שלום",
    "👩‍👩‍👧",
    "x" * 10_000,
    "graph",
    "",
)


def test_the_text_says_all_that_the_picture_says(plan):
    assert text(plan).splitlines()[:10] == [
        "A sharded step",
        "regional · 4 regions · 4 nodes compiled · 6 eager · 14 nodes",
        "note: captured for causal = True",
        "note: The plan's own sentence.",
        "",
        "region    phase     nodes  work     in    out   from  to",
        "region_0  forward   1      0 FLOP   24 B  24 B  relu  relu",
        "region_1  forward   1      36 FLOP  48 B  24 B  mm    mm",
        "region_2  forward   1      0 FLOP   24 B  24 B  loss  loss",
        "region_3  backward  1      36 FLOP  48 B  24 B  grad  grad",
    ]
    assert " ".join(text(plan).splitlines()[15].split()) == "phase role region name operator produces reads module why eager"


def test_every_node_is_a_line_that_grep_finds(plan):
    lines = text(plan).splitlines()
    assert len([line for line in lines if line.startswith(("forward", "backward", "-  "))]) == len(plan.graph)
    (mm,) = [line.split() for line in lines if "  mm  " in line and "region_1" in line and "aten" in line]
    assert mm == ["forward", "compute", "region_1", "mm", "aten.mm.default", "float32[2,", "3]", "relu", "wait", "blocks.0.fc", "-"]
    (effect,) = [line for line in lines if " effect " in line]
    assert effect.endswith("writes to running_mean")


def test_text_stays_on_its_line(make_node):
    graph = GraphSnapshot((make_node("a\nb", target="x\r\ny"),), "two\nlines")
    assert text(Plan.of_graph(graph)).splitlines()[0] == "two lines"
    assert len(text(Plan.of_graph(graph)).splitlines()) == 5


def test_the_table_has_a_row_for_each_node(plan):
    rows = {row.name: row for row in plan_table(plan)}
    assert list(rows) == [node.name for node in plan.graph.nodes]
    assert (rows["mm"].role, rows["mm"].region, rows["mm"].reason) == ("compute", "region_1", "")
    assert (rows["copy_"].role, rows["copy_"].region, rows["copy_"].reason) == ("effect", "", "writes to running_mean")
    assert (rows["mm"].produces, rows["mm"].num_bytes, rows["mm"].source) == ("float32[2, 3]", 24, "train.py:7")


def test_dot_is_read_back_with_every_node_edge_and_role(plan):
    graph = pygraphviz.AGraph(string=dot(plan))
    names = {one: one.attr["fx"] for one in graph.nodes()}
    assert list(names.values()) == [node.name for node in plan.graph.nodes]
    assert {(names[a], names[b]) for a, b in graph.edges()} == {(a.name, b.name) for a, b in plan.graph.edges()}
    assert {names[one]: one.attr["role"] for one in graph.nodes()} == dict(plan.roles)
    assert {names[one]: one.attr["region"] for one in graph.nodes() if one.attr["region"]} == {
        "relu": "region_0",
        "mm": "region_1",
        "loss": "region_2",
        "grad": "region_3",
    }
    loose = {(names[edge[0]], names[edge[1]]) for edge in graph.edges() if edge.attr["constraint"] == "false"}
    assert loose == {("loss", "ones"), ("relu", "grad")}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_dot(make_node, name):
    nodes = (make_node(name, target=name, module=name), make_node(name + "_1", [name]))
    graph = pygraphviz.AGraph(string=dot(Plan.of_graph(GraphSnapshot(nodes, name))))
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (2, 1)
    if name.isascii() and "\n" not in name and "\\" not in name:
        assert (graph.nodes()[0].attr["fx"] or "") == name
