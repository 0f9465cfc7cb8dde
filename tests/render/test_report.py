"""The report page: every number in it, and nothing from a network."""

import json
import re
from html.parser import HTMLParser

import pytest

from hyperviz.render import html
from hyperviz.snapshot import CompileReport, Equality, GraphSnapshot, OutputEquality, Plan, RegionReport, Timing, Timings, from_json

HOSTILE = "</script><img src=x onerror=alert(1)> ]]> & \" '"
TIMINGS = Timings((Timing("off", (10.0, 11.0, 12.0), 11.0, 10.0, 12.0), Timing("regional", (5.0, 5.5, 6.0), 5.5, 5.0, 6.0)), 0.75)
EQUALITY = Equality("rounding", (OutputEquality("loss", "rounding", HOSTILE, 1, 1, 1, 1e-7, 1e-7, "float32[]", "float32[]"),))
REPORT = CompileReport("regional", 1.25, (RegionReport("region_0", 1, 0.5, None, "miss"),), ("A note of the compile.",))


class Elements(HTMLParser):
    """Tags with their attributes, and the text of each script and of the rest."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words, self.scripts, self._stack = [], [], {}, []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._stack.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self._stack and self._stack.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, attributes = self._stack[-1] if self._stack else ("", {})
        if tag == "script":
            self.scripts[attributes.get("id", "code")] = data
        elif tag != "style":
            self.words.append(data)


@pytest.fixture
def page(plan, off):
    return html(
        {"off": off, "regional": plan},
        timings=TIMINGS,
        equalities={"regional": EQUALITY},
        reports={"regional": REPORT},
        versions={"torch": "2.13.0"},
        command="hyperviz demo --out 'a b'",
    )


def test_the_page_needs_nothing_from_anywhere(page):
    elements = Elements(page)
    assert {tag for tag, _ in elements.tags} & {"link", "iframe", "object", "embed", "base"} == set()
    sources = [attributes[key] for _, attributes in elements.tags for key in ("src", "href", "xlink:href") if key in attributes]
    assert sources and all(source.startswith("data:image/png;base64,") for source in sources)
    policies = [attributes["content"] for _, attributes in elements.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"]


def test_one_picture_serves_all_plans_of_a_graph(page):
    elements = Elements(page)
    assert sum(tag == "svg" for tag, _ in elements.tags) == 1
    buttons = [attributes for tag, attributes in elements.tags if tag == "button" and "data-label" in attributes]
    assert [(one["data-label"], one["aria-pressed"]) for one in buttons] == [("off", "false"), ("regional", "true")]


def test_the_data_holds_every_number_and_is_read_back(page, plan, off):
    data = json.loads(Elements(page).scripts["hyperviz-data"])
    assert from_json(json.dumps(data["timings"])) == TIMINGS
    assert from_json(json.dumps(data["equalities"]["regional"])) == EQUALITY
    assert from_json(json.dumps(data["reports"]["regional"])) == REPORT
    (graph,) = data["graphs"]
    assert from_json(json.dumps(graph)) == plan.graph
    for label, one in (("off", off), ("regional", plan)):
        document = data["plans"][label]
        document["data"]["graph"] = data["graphs"][document["data"]["graph"]]["data"]
        assert from_json(json.dumps(document)) == one
    assert (data["command"], data["versions"]) == ("hyperviz demo --out 'a b'", {"torch": "2.13.0"})


def test_the_page_says_what_was_found(page):
    words = " ".join(" ".join(Elements(page).words).split())
    for sentence in (
        "A sharded step",
        "torch 2.13.0",
        "hyperviz demo --out 'a b'",
        "2.00x [2.00, 2.00]: regional is faster",
        "≈ rounding",
        "1.2 s",
        "A note of the compile.",
        "writes to running_mean",
        "region_3",
    ):
        assert sentence in words


def test_no_text_of_a_program_becomes_markup(make_node):
    nodes = (make_node(HOSTILE, target=HOSTILE, module=HOSTILE), make_node("b", [HOSTILE]))
    graph = GraphSnapshot(nodes, HOSTILE, (HOSTILE,))
    hostile = Plan(graph, "regional", "runs", {HOSTILE: "eager", "b": "compute"}, (), {HOSTILE: HOSTILE}, (HOSTILE,))
    page = html({HOSTILE: hostile}, equalities={HOSTILE: EQUALITY}, versions={HOSTILE: HOSTILE}, command=HOSTILE)
    elements = Elements(page)
    assert not [attributes for _, attributes in elements.tags if "onerror" in attributes]
    assert set(elements.scripts) == {"hyperviz-data", "hyperviz-overlays", "code"}
    assert json.loads(elements.scripts["hyperviz-data"])["command"] == HOSTILE
    assert any(HOSTILE in word for word in elements.words)


def test_a_page_of_timings_or_of_an_equality_alone():
    assert "Time of one step" in html({}, timings=TIMINGS)
    assert "rounding" in html({}, equalities={"compiled": EQUALITY})
    assert "hyperviz report" in html({})


def test_plans_of_different_graphs_have_a_picture_each(plan, make_chain):
    elements = Elements(html({"step": plan, "chain": Plan.of_graph(make_chain(3))}))
    canvases = [attributes for tag, attributes in elements.tags if attributes.get("class") == "canvas"]
    assert [(one["data-graph"], "hidden" in one) for one in canvases] == [("0", False), ("1", True)]


def test_a_picture_that_fails_leaves_a_sentence_and_all_tables(plan, monkeypatch):
    from hyperviz.render import report

    monkeypatch.setattr(report, "svg", lambda plan: {}["lost"])
    page = html({"regional": plan}, timings=TIMINGS)
    assert "This graph could not be drawn (KeyError: &#x27;lost&#x27;)" in page
    assert "region_3" in page


def test_the_same_study_is_the_same_page(plan, off):
    assert html({"off": off, "regional": plan}, timings=TIMINGS) == html({"off": off, "regional": plan}, timings=TIMINGS)


def test_scripts_hold_no_end_of_themselves(page):
    for _, body in re.findall(r"<script([^>]*)>(.*?)</script>", page, re.S):
        assert "<!--" not in body
