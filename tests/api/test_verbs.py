"""The verbs on a real step: plan, compile, compare, benchmark, show, export; and what they refuse."""

from __future__ import annotations

import json
import os

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import hyperviz as hv
from hyperviz.snapshot import Timing, Timings, from_json

REGIONAL = hv.PassConfig(inductor_mode="regional")


def _with(**settings):
    return REGIONAL.replace(inductor_configs=settings)


def _loss(model, x, y):
    return torch.nn.functional.mse_loss(model(x), y)


@pytest.fixture(scope="module")
def step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 2))
    inputs = {"x": torch.randn(4, 8), "y": torch.randn(4, 2)}
    joint = hv.trace(model, _loss, inputs)
    return joint, joint.flat_inputs(model, inputs)


@pytest.fixture(scope="module")
def compiled(step):
    joint, _ = step
    return {mode: hv.compile(joint, hv.PassConfig(inductor_mode=mode)) for mode in ("off", "regional", "full")}


def test_what_is_planned_is_what_is_compiled(step, compiled):
    joint, _ = step
    for mode, result in compiled.items():
        plan = hv.plan(joint, hv.PassConfig(inductor_mode=mode))
        assert result.plan == plan and result.report.mode == mode
        assert [region.name for region in plan.regions] == [report.name for report in result.report.regions]
        for region in plan.regions:
            assert getattr(result.graph_module, region.name).nodes == region.nodes


def test_every_mode_is_the_same_computation_within_rounding(step, compiled):
    joint, flat = step
    assert hv.compare(joint, compiled["off"], flat).verdict == "bitwise"
    for mode in ("regional", "full"):
        equality = hv.compare(joint, compiled[mode], flat)
        assert equality.verdict in ("bitwise", "rounding")
        assert [output.name for output in equality.outputs] == list(joint.output_names)
    exact = hv.compile(joint, REGIONAL.replace(numerics="exact"))
    assert hv.compare(joint, exact, flat).verdict == "bitwise"


def test_gradients_train_the_model_as_eager_does(step, compiled):
    joint, flat = step
    loss, *gradients = compiled["regional"](*flat)
    expected, *others = joint.run(*flat)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients, others)


def test_the_joint_graph_stays_as_it_was(step, compiled):
    joint, flat = step
    code = joint.graph_module.code
    assert "region_0" not in code and not joint.graph_module.meta.get("inductor_compiled")
    assert not any("custom" in node.meta and "compile_with_inductor" in node.meta["custom"] for node in joint.graph_module.graph.nodes)
    assert hv.compare(joint, joint, flat).verdict == "bitwise"


def test_verbs_take_a_plain_graph_module():
    graph = make_fx(lambda x: torch.relu(x) * 2, tracing_mode="fake")(torch.ones(3))
    x = torch.randn(3)
    assert len(hv.plan(graph, REGIONAL).regions) == 1
    result = hv.compile(graph, REGIONAL)
    assert hv.compare(graph, result, [x]).verdict == "bitwise"
    timings = hv.benchmark({"eager": graph, "regional": result, "python": lambda x: x.relu() * 2}, [x], rounds=6)
    assert timings["regional"].median_ms > 0
    assert timings.ratio("eager", "regional").median > 0


def test_a_miscompile_of_inductors_is_called_wrong():
    """Case C11, in full mode, where Inductor gets to see the write."""

    def program(x):
        x.index_put_((torch.tensor([0, 2]),), 2 * x[:2])
        x.add_(x.flip(0))
        return x + 1

    graph = make_fx(program, tracing_mode="fake")(torch.arange(6.0))
    flat = [torch.arange(6.0)]
    assert hv.compare(graph, hv.compile(graph, REGIONAL), flat).verdict == "bitwise"
    full = hv.compare(graph, hv.compile(graph, hv.PassConfig(inductor_mode="full")), flat)
    assert full.verdict == "wrong"
    assert flat[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_changed_graph_is_planned_anew(step):
    graph = make_fx(lambda x: torch.relu(x) * 2, tracing_mode="fake")(torch.ones(3))
    assert len(hv.plan(graph).graph) == 4
    (relu,) = (node for node in graph.graph.nodes if node.name == "relu")
    with graph.graph.inserting_after(relu):
        added = graph.graph.create_node("call_function", torch.ops.aten.sin.default, (relu,), name="sin")
    next(node for node in graph.graph.nodes if node.name == "mul").replace_input_with(relu, added)
    graph.recompile()
    assert [node.name for node in hv.plan(graph, REGIONAL).graph.nodes] == ["x_1", "relu", "sin", "mul", "output"]
    assert hv.plan(graph, REGIONAL).regions[0].nodes == ("relu", "sin", "mul")


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "html", "dot", "json"])
def test_exports_a_plan_in_every_format(step, tmp_path, suffix):
    joint, _ = step
    plan = hv.plan(joint, REGIONAL)
    path = hv.export(plan, tmp_path / f"regions.{suffix}")
    contents = path.read_bytes()
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!doctype html", "dot": b"digraph", "json": b"{"}
    head = contents[:200].lower() if suffix == "html" else contents[:200]
    assert starts[suffix] in head
    if suffix == "json":
        assert from_json(contents.decode()) == plan
        assert json.loads(contents)["format"] == "hyperviz"
    assert [entry.name for entry in tmp_path.iterdir()] == [f"regions.{suffix}"]


def test_exports_timings_and_equalities(step, compiled, tmp_path):
    joint, flat = step
    timings = hv.benchmark({"eager": joint, "regional": compiled["regional"]}, flat, rounds=6)
    equality = hv.compare(joint, compiled["regional"], flat)
    for thing in (timings, equality):
        for suffix in ("svg", "png", "pdf", "html", "json"):
            assert hv.export(thing, tmp_path / f"figure.{suffix}").stat().st_size > 500
        with pytest.raises(ValueError, match=r"only a graph has a \.dot form"):
            hv.export(thing, tmp_path / "figure.dot")


def test_show_is_a_picture_in_a_notebook_and_text_in_a_terminal(step, compiled):
    joint, flat = step
    for thing in (joint, joint.graph_module, hv.plan(joint, REGIONAL), compiled["regional"], hv.compare(joint, joint, flat)):
        bundle = hv.show(thing)._repr_mimebundle_()
        assert "<svg" in bundle["image/svg+xml"]
        assert bundle["text/plain"] == repr(hv.show(thing)) and len(bundle["text/plain"]) > 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda joint, path: hv.plan(3), "joint must be what hv.trace returns or a torch.fx.GraphModule, got int"),
        (lambda joint, path: hv.plan(joint, "regional"), "config must be a PassConfig, got str"),
        (lambda joint, path: hv.show("x"), "can be drawn, got str"),
        (lambda joint, path: hv.export(joint, path / "a.gif"), r"must end in one of \.svg, .*, got 'a.gif'"),
        (lambda joint, path: hv.export(joint, path / "none" / "a.svg"), "cannot write 'a.svg' into the folder '.*none': No such file"),
        (lambda joint, path: hv.compare(joint, 3, []), "a candidate must be a joint graph, .* got int"),
        (
            lambda joint, path: hv.compile(joint, _with(max_autotun=True)),
            "unknown Inductor setting 'max_autotun'",
        ),
        (
            lambda joint, path: hv.compile(joint, _with(max_autotune=1)),
            "'max_autotune' must be bool, got 1",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(step, tmp_path, call, message):
    with pytest.raises(ValueError, match=message):
        call(step[0], tmp_path)
    assert not os.listdir(tmp_path)


def test_a_picture_that_cannot_be_written_leaves_the_old_one(step, tmp_path):
    target = tmp_path / "regions.svg"
    target.mkdir()
    with pytest.raises(ValueError, match="cannot write 'regions.svg'"):
        hv.export(step[0], target)
    assert [entry.name for entry in tmp_path.iterdir()] == ["regions.svg"] and target.is_dir()


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_the_same_figure_has_the_same_bytes(suffix, tmp_path):
    timings = Timings((Timing("eager", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 3.5, 1.0, 6.0, 8), Timing("full", (1.0,) * 6, 1.0, 1.0, 1.0)))
    first, second = (hv.export(timings, tmp_path / f"{name}.{suffix}").read_bytes() for name in "ab")
    assert first == second
