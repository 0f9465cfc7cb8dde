"""Snapshots as JSON: a round trip is exact, and damage is refused where it is."""

import json
import math
from types import MappingProxyType

import pytest

from hyperviz.snapshot import (
    Collective,
    CompileReport,
    Equality,
    GraphSnapshot,
    NodeSnapshot,
    OutputEquality,
    Plan,
    Region,
    RegionReport,
    SourceLine,
    TensorSnapshot,
    Timing,
    Timings,
    from_json,
    to_json,
)

TENSOR = TensorSnapshot((2, "s0"), "float32", (3, 1), "cuda:0", None)
GRAPH = GraphSnapshot(
    (
        NodeSnapshot("x", "placeholder", "x", kind="input"),
        NodeSnapshot("mm", "call_function", "aten.mm.default", ("x",), "forward", (TENSOR,), "m", SourceLine("a.py", 3, "</script>", "f")),
    ),
    "שלום \ud800 👩",
    ("note",),
    {"torch": "2.13.0"},
    (Collective("mm", (), "all_gather", "0", None, 24, "", ("mm",)),),
)
SETTINGS = {"a": True, "b": 1, "c": 1.5, "d": None, "e": "x", "f": [1, (2, [3])], "g": {"h": (math.inf,)}}
PLAN = Plan(
    GRAPH, "regional", "runs", {"x": "placeholder", "mm": "compute"}, (Region("region_0", ("mm",), "forward", 12, None, 24, SETTINGS),), {}
)
SNAPSHOTS = [
    GRAPH,
    PLAN,
    GraphSnapshot(()),
    CompileReport("regional", 0.1 + 0.2, (RegionReport("region_0", 1, 1e-300, "region_1", "hit", "error"),), ("n",)),
    Timings((Timing("a", (0.1, 2.0, 3), 2.0, 0.1, 3.0, None),), 0.95, {"threads": "2"}),
    Equality("wrong", (OutputEquality("loss", "wrong", "r", 3, 1, 2**70, math.inf, -math.inf, "a", "b"),), ("a", "b"), 7, "equal", "bits"),
]


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_saved_comes_back_equal(snapshot, indent):
    text = to_json(snapshot, indent=indent)
    assert from_json(text) == snapshot
    assert from_json(text.encode()) == snapshot
    assert to_json(from_json(text)) == to_json(snapshot)
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_types_come_back_too():
    settings = from_json(to_json(PLAN)).regions[0].settings
    assert settings == SETTINGS
    assert type(settings["a"]) is bool and type(settings["f"][1]) is tuple and type(settings["f"][1][1]) is list


def test_nan_comes_back():
    equality = from_json(to_json(Equality("wrong", (OutputEquality("x", "wrong", max_abs=math.nan),))))
    assert math.isnan(equality.outputs[0].max_abs)


def test_any_mapping_is_saved_as_one():
    assert from_json(to_json(GraphSnapshot((), versions=MappingProxyType({"a": "b"})))).versions == {"a": "b"}


DOCUMENT = json.loads(to_json(PLAN))


def changed(path, value):
    """The document with one place changed; a value of ``...`` removes it."""
    document = json.loads(json.dumps(DOCUMENT))
    *way, last = path
    place = document
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a saved snapshot must be JSON"),
        ("{", "a saved snapshot must be JSON"),
        (to_json(PLAN)[:-20], "a saved snapshot must be JSON"),
        ("[]", 'must be an object with "format": "hyperviz", got []'),
        ('{"nodes": []}', 'must be an object with "format": "hyperviz"'),
        (changed(["version"], 1), "version must be 2, which this hyperviz reads, got 1"),
        (changed(["kind"], "Plam"), "Equality, Timings, RankReports, Schedule, Timeline, Timelines, got 'Plam'"),
        (changed(["kind"], []), "kind must be one of"),
        (changed(["data"], ...), "must hold data"),
        (changed(["data"], 3), "data must be an object, a Plan, got 3"),
        (changed(["data", "mode"], ...), "data must have mode, as every Plan has; it is missing"),
        (changed(["data", "extra"], 1), "data must have the fields of a Plan only, got 'extra'"),
        (changed(["data", "mode"], "of"), "data.mode must be one of off, regional, full, got 'of'"),
        (changed(["data", "graph", "nodes", 1, "name"], 7), "data.graph.nodes[1].name must be text, got 7"),
        (changed(["data", "graph", "nodes", 1, "name"], "x"), "data.graph.nodes[1].name must be unique, got 'x' a second time"),
        (changed(["data", "graph", "nodes", 1, "inputs", 0], "y"), "data.graph.nodes[1].inputs must name earlier nodes, got 'y'"),
        (changed(["data", "graph", "nodes", 1, "inputs"], "x"), "data.graph.nodes[1].inputs must be a list, got 'x'"),
        (changed(["data", "graph", "nodes", 1, "source"], 3), "data.graph.nodes[1].source must be an object, a SourceLine, got 3"),
        (changed(["data", "graph", "nodes", 1, "source", "line"], 1.5), "source.line must be a whole number, got 1.5"),
        (changed(["data", "graph", "nodes", 1, "source", "line"], True), "source.line must be a whole number, got True"),
        (changed(["data", "graph", "nodes", 1, "tensors", 0, "shape", 0], None), "shape[0] must be a whole number or text, got None"),
        (changed(["data", "graph", "collectives", 0, "launch"], "y"), "data.graph.collectives[0] must name nodes of the graph, got 'y'"),
        (changed(["data", "roles", "mm"], "computer"), "data.roles['mm'] must be one of"),
        (changed(["data", "roles", "mm"], ...), "data.roles must give every node a role, got none for 'mm'"),
        (changed(["data", "regions", 0, "name"], "first"), "data.regions[0].name must be \"region_\" and a number, got 'first'"),
        (changed(["data", "regions", 0, "nodes", 0], "y"), "data.regions[0].nodes must be nodes of the graph, got 'y'"),
        (changed(["data", "regions", 0, "flops"], "many"), "data.regions[0].flops must be a whole number or null, got 'many'"),
    ],
)
def test_what_is_foreign_or_damaged_is_refused_at_its_place(text, words):
    with pytest.raises(ValueError) as error:
        from_json(text)
    assert words in str(error.value)


def test_only_snapshots_whose_settings_fit_into_json_are_saved():
    with pytest.raises(ValueError, match="only GraphSnapshot, Plan, .* can be saved as JSON, got dict"):
        to_json({})
    for bad in ({"a": object()}, {"a": {1: 2}}, {"a": {"$tuple": []}}):
        with pytest.raises(ValueError, match=r"data\.regions\[0\]\.settings\['a'\]"):
            to_json(Plan(GRAPH, "regional", "runs", PLAN.roles, (Region("region_0", ("mm",), settings=bad),), {}))
