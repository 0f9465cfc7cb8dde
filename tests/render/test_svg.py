"""The graph's picture: what stands in it, what is escaped, and that it is the same bytes every time."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hyperviz.render import overlay, svg
from hyperviz.snapshot import GraphSnapshot, Plan

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "</script><script>alert(1)</script>",
    "a -> b | {c} <d> \"e\" 'f' & ]]> -->",
    "שלום‮evil",
    "👩‍👩‍👧 naïve 漢字",
    "x" * 10_000,
    "line\nbreak\ttab\x00\x1b[31m\ud800",
    "$\\frac{1}{0}$",
    "",
)


def read(text):
    return ElementTree.fromstring(text)


def by_class(root, name):
    return [element for element in root.iter() if name in element.get("class", "").split()]


def pairs(root, name):
    """What the edges of a class join; the legend's sample joins nothing."""
    return {(one.get("data-from"), one.get("data-to")) for one in by_class(root, name) if one.get("data-from")}


def looks(root):
    """Node name → what its attributes and its badge say."""
    keys = ("data-role", "data-region", "data-paint", "data-phase")
    return {
        one.get("data-name"): (*map(one.get, keys), (one.findtext(f"{SVG}text/{SVG}tspan") or "").strip())
        for one in by_class(root, "hv-node")
    }


def test_the_document_holds_every_node_and_every_edge(plan):
    root = read(svg(plan))
    assert root.tag == f"{SVG}svg" and root.get("class") == "hyperviz"
    assert [child.tag for child in root] == [f"{SVG}style", f"{SVG}defs", f"{SVG}g"]
    assert root[2].get("class") == "hv-viewport"
    assert [one.get("data-name") for one in by_class(root, "hv-node")] == [node.name for node in plan.graph.nodes]
    assert pairs(root, "hv-edge") | pairs(root, "hv-saved") == {(a.name, b.name) for a, b in plan.graph.edges()}
    assert pairs(root, "hv-saved") == {("loss", "ones"), ("relu", "grad")}


def test_roles_regions_and_badges_are_attributes_and_letters(plan):
    assert looks(read(svg(plan))) == {
        "w": ("placeholder", None, None, "forward", ""),
        "running_mean": ("placeholder", None, None, "forward", ""),
        "x": ("placeholder", None, None, "forward", ""),
        "gather": ("collective", None, None, "forward", "»"),
        "relu": ("compute", "0", "0", "forward", "0"),
        "wait": ("wait", None, None, "forward", "«"),
        "mm": ("compute", "1", "1", "forward", "1"),
        "copy_": ("effect", None, None, "forward", "!"),
        "loss": ("compute", "2", "2", "forward", "2"),
        "ones": ("eager", None, None, "backward", ""),
        "grad": ("compute", "3", "3", "backward", "3"),
        "scatter": ("collective", None, None, "backward", "»"),
        "wait_1": ("wait", None, None, "backward", "«"),
        "output": ("output", None, None, None, ""),
    }


def test_title_counts_notes_headings_and_legend_can_be_read(plan):
    words = [element.text for element in read(svg(plan)).iter(f"{SVG}text")]
    for expected in (
        "A sharded step",
        "regional · 4 regions · 4 nodes compiled · 6 eager",
        "captured for causal = True",
        "The plan's own sentence.",
        "Forward ↓",
        "Backward ↑",
        "blocks.0",
        "compiled, region 0",
        "side effect",
        "saved value",
    ):
        assert expected in words


def test_tooltips_tell_operator_and_module(plan):
    titles = {one.get("data-name"): one.findtext(f"{SVG}title") for one in by_class(read(svg(plan)), "hv-node")}
    assert titles["mm"] == "aten.mm.default · blocks.0.fc"
    assert titles["w"] == "w · blocks.0.fc.weight"


def test_an_overlay_says_all_that_another_plan_changes(plan, off):
    other = read(svg(off))
    data = overlay(off)
    for one in by_class(root := read(svg(plan)), "hv-node"):
        role, region, paint, badge = data["nodes"][one.get("data-name")]
        for key, value in (("data-role", role), ("data-region", region), ("data-paint", paint)):
            one.attrib.pop(key, None)
            if value is not None:
                one.set(key, str(value))
        text = one.find(f"{SVG}text")
        for old in text.findall(f"{SVG}tspan"):
            text.remove(old)
        if badge:
            ElementTree.SubElement(text, f"{SVG}tspan").text = badge
    assert looks(root) == looks(other)
    assert (data["title"], data["subtitle"]) == ("A sharded step", "off · 0 regions · 0 nodes compiled · 10 eager")


def test_nodes_keep_their_places_in_every_plan(plan, off):
    def places(text):
        boxes = [(one.get("data-name"), one.find(f"{SVG}rect")) for one in by_class(read(text), "hv-node")]
        return {name: [rect.get(key) for key in ("x", "y", "width", "height")] for name, rect in boxes}

    assert places(svg(plan)) == places(svg(off))
    assert read(svg(plan)).get("viewBox") == read(svg(off)).get("viewBox")


def test_the_same_graph_gives_the_same_bytes_in_another_process(plan):
    code = "import sys; sys.path.insert(0, sys.argv[1]); from conftest import sharded_plan; from hyperviz.render import svg"
    command = [sys.executable, "-c", f"{code}; print(svg(sharded_plan()), end='')", str(Path(__file__).parent)]
    other = subprocess.run(command, capture_output=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert other.stdout.decode() == svg(plan)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_a_program_is_data(make_node, text):
    nodes = (
        make_node(text or "x", op="placeholder", target=text, kind="parameter"),
        make_node(text + "_1", [text or "x"], target=text, module=text),
        make_node(text + "_2", [text + "_1"], phase="backward", twin=text + "_1"),
    )
    graph = GraphSnapshot(nodes, text, (text,))
    plan = Plan(graph, "off", "runs", {node.name: "compute" for node in nodes}, (), {}, (text,))
    for still in (False, True):
        document = svg(plan, still=still)
        root = read(document)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ALLOWED
        assert "‮" not in document
        assert len(document) < 120_000
    assert len(by_class(read(svg(plan)), "hv-node")) == 3


ALLOWED = {"svg", "style", "defs", "pattern", "marker", "rect", "path", "g", "title", "text", "tspan"}


def test_a_label_is_cut_and_the_whole_name_kept_in_the_tooltip(make_node):
    name = "native_layer_norm_backward_of_something_12"
    one = by_class(read(svg(Plan.of_graph(GraphSnapshot((make_node(name),))))), "hv-node")[0]
    assert one.findtext(f"{SVG}text") == "native_layer_…mething_12"
    assert one.findtext(f"{SVG}title") == f"{name} · aten.relu.default"


def test_nothing_outside_is_needed(plan):
    document = svg(plan)
    assert re.findall(r"https?://[^\"' )]+", document) == ["http://www.w3.org/2000/svg"]
    assert "@import" not in document and "href" not in document
    identifiers = re.findall(r'id="([^"]+)"', document)
    assert len(set(identifiers)) == len(identifiers)
    assert set(re.findall(r"url\(#([^)]+)\)", document)) <= set(identifiers)


def test_readers_of_little_css_see_plain_colours_only(plan):
    plain, _, themed = read(svg(plan)).findtext(f"{SVG}style").partition("@supports(color:light-dark(#000,#fff)){")
    assert "light-dark" not in plain and "var(" not in plain and ":not(" not in plain
    pattern = r"(fill|stroke):(?:light-dark\()?(#[0-9a-f]{6})"
    light = re.findall(pattern, plain)
    assert len(light) > 60 and re.findall(pattern, themed.replace("var(--jp-layout-color0,", ""))[: len(light)] == light


def test_a_graph_of_900_nodes_is_small_and_its_still_is_smaller(make_deep):
    graph = make_deep(53)
    assert len(graph) > 900
    plan = Plan.of_graph(graph)
    whole, still = svg(plan), svg(plan, still=True)
    assert len(whole.encode()) < 360_000
    assert len(still.encode()) < 180_000
    assert still.count("<text") == whole.count("<text")
    assert "data-name" not in still
