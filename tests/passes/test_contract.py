"""The Inductor pass's contract, line by line, where no case of its own shows a line."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap

import pytest
import torch
from small_graphs import compiled, traced
from torch import fx
from torch._inductor import config as inductor_config
from torch._inductor.lowering import register_lowering

from hyperviz.analysis import find_regions
from hyperviz.passes import InductorPass, PassConfig, PassPipeline, RegionCompileError
from hyperviz.passes import inductor as inductor_pass


@torch.library.custom_op("hvtest::cursed", mutates_args=())
def cursed(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@cursed.register_fake
def _(x):
    return torch.empty_like(x)


class Curse:
    """What lowering the operator raises."""

    error: BaseException = RuntimeError("no lowering today")


@register_lowering(torch.ops.hvtest.cursed.default, type_promotion_kind=None)
def _lower(x):
    raise Curse.error


def _layers(x):
    for _ in range(3):
        x = torch.relu(torch.sin(x) * 2)
        x = torch.ops.aten.cos(x)
    return x


def _inputs(graph):
    return [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]


@pytest.fixture
def layers():
    return traced(_layers, torch.ones(4))


def test_off_is_not_in_the_pipeline_and_does_nothing_when_called(layers):
    """Line 1."""
    assert PassPipeline.from_config(PassConfig()).passes == ()
    code, meta = layers.code, dict(layers.meta)
    assert InductorPass().run(layers, PassConfig()) is layers
    assert layers.code == code and layers.meta == meta


def test_the_pipeline_of_every_other_mode_ends_in_the_pass():
    for mode in ("regional", "full"):
        *_, last = PassPipeline.from_config(PassConfig(inductor_mode=mode)).passes
        assert isinstance(last, InductorPass)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("inductor_mode", "regionl", r"inductor_mode must be one of 'off', 'regional', 'full', got 'regionl'; did you mean 'regional'\?"),
        ("region_strategy", "run", r"region_strategy must be one of 'runs', .*, got 'run'; did you mean 'runs'\?"),
        ("numerics", "exakt", r"numerics must be one of 'default', 'exact', got 'exakt'; did you mean 'exact'\?"),
        ("inductor_configs", {1: 2}, "inductor_configs must map names of Inductor settings to values"),
        ("keep_eager", (1,), "keep_eager must hold names"),
    ],
)
def test_a_bad_value_is_refused_when_the_config_is_made(field, value, message):
    """Line 4."""
    with pytest.raises(ValueError, match=message):
        PassConfig(**{field: value})


def test_a_misspelt_field_is_refused_with_the_likely_one():
    with pytest.raises(ValueError, match="no field 'inductor_mod'; did you mean 'inductor_mode'"):
        PassConfig().replace(inductor_mod="full")
    assert PassConfig().replace(inductor_mode="full") == PassConfig(inductor_mode="full")


def test_a_config_is_frozen_to_the_leaves():
    config = PassConfig(inductor_configs={"max_autotune": True})
    with pytest.raises(Exception, match="cannot assign|immutable"):
        config.inductor_mode = "full"
    with pytest.raises((TypeError, NotImplementedError)):
        config.inductor_configs["max_autotune"] = False


def test_regions_are_the_maximal_runs_of_consecutive_compilable_nodes(layers):
    """Line 7."""
    found = find_regions(layers.graph, mode="regional", keep_eager=("aten.cos",))
    assert [[node.name for node in group] for group in found.groups] == [
        ["sin", "mul", "relu"],
        ["sin_1", "mul_1", "relu_1"],
        ["sin_2", "mul_2", "relu_2"],
    ]
    assert set(found.reasons) == {node for node in layers.graph.nodes if node.name.startswith("cos")}


def test_equal_regions_are_compiled_once_and_settings_reach_every_one(layers):
    """Line 8, and which region shares whose artifact."""
    told = []
    run = compiled(layers, keep_eager="aten.cos", inductor_configs={"max_fusion_size": 32}, progress=told.append)
    assert [report.reused_from for report in run.report.regions] == [None, "region_0", "region_0"]
    assert [region.settings for region in run.plan.regions] == [{"max_fusion_size": 32}] * 3
    for index in range(3):
        region = getattr(run.graph_module, f"region_{index}")
        assert all(
            node.meta["custom"]["compile_with_inductor"]["inductor_configs"] == {"max_fusion_size": 32}
            for node in region.graph_module.graph.nodes
            if node.op == "call_function"
        )
    assert [(step.index, step.total, step.name) for step in told] == [(0, 1, "region_0"), (1, 1, "")]
    assert told[0].what == "3 nodes"
    x = torch.randn(4)
    torch.testing.assert_close(run(x), layers(x))


def test_a_bad_setting_is_refused_before_anything_is_compiled_or_changed(layers):
    """Line 8."""
    code = layers.code
    config = PassConfig(inductor_mode="regional", inductor_configs={"max_autotun": True})
    with pytest.raises(ValueError, match="unknown Inductor setting 'max_autotun'.*max_autotune"):
        InductorPass().run(layers, config, example_inputs=_inputs(layers))
    assert layers.code == code and "inductor_compiled" not in layers.meta
    assert not any("custom" in node.meta for node in layers.graph.nodes)


def test_what_another_tool_annotated_is_its_own_region_with_its_own_settings():
    """C33: two islands with different settings, and a bad key on a later node."""

    def program(x):
        with fx.traceback.annotate({"compile_with_inductor": {"inductor_configs": {"max_fusion_size": 8}}}):
            x = torch.relu(torch.sin(x))
        x = torch.cos(x)
        with fx.traceback.annotate({"compile_with_inductor": {"inductor_configs": {"max_fusion_size": 16}}}):
            x = torch.tanh(x) * 2
        return x

    with fx.traceback.preserve_node_meta():
        graph = traced(program, torch.ones(3))
    run = compiled(graph, region_strategy="annotated")
    assert [(region.nodes, region.settings) for region in run.plan.regions] == [
        (("sin", "relu"), {"max_fusion_size": 8}),
        (("tanh", "mul"), {"max_fusion_size": 16}),
    ]
    assert run.plan.eager == {"cos": "not annotated"}
    x = torch.randn(3)
    torch.testing.assert_close(run(x), graph(x))
    later = next(node for node in graph.graph.nodes if node.name == "mul")
    later.meta["custom"] = {"compile_with_inductor": {"inductor_configs": {"max_fusion_siz": 16}}}
    with pytest.raises(ValueError, match="max_fusion_siz'.*max_fusion_size"):
        compiled(graph, region_strategy="annotated")


def test_annotations_are_no_regions_unless_the_config_says_so():
    def program(x):
        with fx.traceback.annotate({"compile_with_inductor": {"inductor_configs": {}}}):
            x = torch.sin(x)
        return torch.cos(x)

    with fx.traceback.preserve_node_meta():
        graph = traced(program, torch.ones(3))
    assert [[node.name for node in group] for group in find_regions(graph.graph, mode="regional").groups] == [["sin", "cos"]]


def test_graphs_without_fake_values_are_refused(layers):
    """Line 10."""
    config = PassConfig(inductor_mode="regional")
    bare = fx.symbolic_trace(lambda x, y: x + y)
    with pytest.raises(ValueError, match="must be traced with make_fx.*none of its 2 placeholders"):
        InductorPass().run(bare, config, example_inputs=[1, 2])
    two = traced(lambda x, y: x + y, torch.ones(2), torch.ones(2))
    second = [node for node in two.graph.nodes if node.op == "placeholder"][1]
    del second.meta["val"]
    with pytest.raises(ValueError, match=f"placeholder {second.name!r} has none"):
        InductorPass().run(two, config, example_inputs=[1, 2])
    with pytest.raises(ValueError, match="example_inputs must be given, one for each of the graph's 1 placeholders"):
        InductorPass().run(layers, config)
    with pytest.raises(ValueError, match="one value for each of the graph's 1 placeholders, got 2"):
        InductorPass().run(layers, config, example_inputs=_inputs(layers) * 2)


@pytest.mark.parametrize("fails", [False, True])
def test_division_rounding_is_forced_inside_the_pass_and_nowhere_else(layers, fails):
    """Line 12."""
    seen = []

    def program(x):
        return torch.ops.hvtest.cursed(x) if fails else torch.sin(x) / 3

    def watch(step):
        seen.append(inductor_config.eager_numerics.division_rounding)

    graph = traced(program, torch.ones(3))
    before = inductor_config.get_config_copy()
    if fails:
        with pytest.raises(RegionCompileError):
            compiled(graph, progress=watch)
    else:
        run = compiled(graph, progress=watch)
        assert run.graph_module.region_0.settings == {"eager_numerics.division_rounding": True}
    assert inductor_config.get_config_copy() == before
    assert seen and not any(seen)


def test_full_turns_on_the_reordering_for_peak_memory_unless_told_otherwise():
    """Line 3."""
    graph = traced(lambda x: torch.sin(x) + 1, torch.ones(3))
    for settings, expected in (({}, True), ({"reorder_for_peak_memory": False}, False)):
        run = compiled(graph, "full", inductor_configs=settings)
        assert run.graph_module.region_0.settings["reorder_for_peak_memory"] is expected


def test_a_second_run_is_a_no_op_with_a_warning():
    """Line 15."""
    graph = traced(lambda x: torch.sin(x) + 1, torch.ones(3))
    config = PassConfig(inductor_mode="regional")
    inputs = _inputs(graph)
    InductorPass().run(graph, config, example_inputs=inputs)
    code = graph.code
    with pytest.warns(UserWarning, match="has been through the Inductor pass already"):
        assert InductorPass().run(graph, config, example_inputs=inputs) is graph
    assert graph.code == code


def test_a_torch_without_regional_inductor_leaves_the_graph_and_says_so_once(layers, monkeypatch, caplog):
    """Line 18; the look for torch's module is replaced, torch itself is not."""
    monkeypatch.setattr(inductor_pass, "regional_inductor_available", lambda: False)
    code = layers.code
    with caplog.at_level(logging.WARNING, logger="hyperviz"):
        result = InductorPass().run(layers, PassConfig(inductor_mode="full"), example_inputs=_inputs(layers))
    assert result is layers and layers.code == code
    assert layers.meta["inductor_compiled"] == "unavailable"
    (record,) = [record for record in caplog.records if record.name.startswith("hyperviz")]
    assert torch.__version__ in record.getMessage() and "'full'" in record.getMessage()
    stub_graph = fx.Graph()
    x = stub_graph.placeholder("x")
    stub_graph.output(stub_graph.call_module("act", (x,)))
    with pytest.raises(ValueError, match="call_module 'act'"):
        InductorPass().run(fx.GraphModule({"act": torch.nn.ReLU()}, stub_graph), PassConfig(inductor_mode="full"))


def test_nothing_of_inductor_is_imported_before_something_is_compiled():
    """Line 18."""
    script = """
        import sys, torch
        from torch.fx.experimental.proxy_tensor import make_fx
        import hyperviz as hv
        print([name for name in sys.modules if name.startswith("torch._inductor")])
        graph = make_fx(lambda x: torch.relu(x) * 2, tracing_mode="fake")(torch.ones(3))
        before = set(sys.modules)  # torch's own tracer imports torch._dynamo, and with it some of torch._inductor
        hv.plan(graph, hv.PassConfig(inductor_mode="regional", inductor_configs={"max_autotune": True}))
        hv.compile(graph, hv.PassConfig())
        print([name for name in sys.modules if name.startswith("torch._inductor") and name not in before])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["[]", "[]"], done.stdout + done.stderr


def _with_a_curse(x):
    x = torch.sin(x) * 2
    x = torch.cos(x)
    x = torch.ops.hvtest.cursed(x) + 1
    return x


def test_a_region_that_does_not_compile_is_named_with_its_nodes_and_the_cause():
    """Line 19."""
    graph = traced(_with_a_curse, torch.ones(3))
    next(node for node in graph.graph.nodes if node.name == "cursed").meta["module_path"] = "blocks.3.mlp"
    code = graph.code
    Curse.error = RuntimeError("no lowering today")
    with pytest.raises(RegionCompileError) as caught:
        InductorPass().run(graph, PassConfig(inductor_mode="regional", keep_eager=("cos",)), example_inputs=_inputs(graph))
    assert caught.value.region == "region_1" and caught.value.nodes == ("cursed", "add")
    assert "region_1 did not compile: LoweringException: RuntimeError: no lowering today" in str(caught.value)
    assert "cursed = hvtest.cursed.default  in blocks.3.mlp" in str(caught.value)
    assert graph.code == code and not graph.meta.get("inductor_compiled")


def test_a_region_that_does_not_compile_may_stay_eager():
    """Line 19."""
    graph = traced(_with_a_curse, torch.ones(3))
    Curse.error = RuntimeError("no lowering today")
    run = compiled(graph, keep_eager="cos", on_error="eager")
    x = torch.randn(3)
    torch.testing.assert_close(run(x), graph(x))
    assert [region.name for region in run.plan.regions] == ["region_0"]
    assert "region_1 did not compile" in run.plan.eager["cursed"]
    assert "no lowering today" in run.report.regions[1].error
    assert "region_1 was left eager" in run.report.notes[0]
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'eager', got 'ignore'"):
        compiled(graph, on_error="ignore")


def test_an_interrupt_leaves_everything_usable():
    """Line 19."""
    graph = traced(_with_a_curse, torch.ones(3))
    code = graph.code
    settings = inductor_config.get_config_copy()

    def interrupt(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InductorPass().run(graph, PassConfig(inductor_mode="regional"), example_inputs=_inputs(graph), progress=interrupt)
    Curse.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        InductorPass().run(graph, PassConfig(inductor_mode="regional"), example_inputs=_inputs(graph))
    assert graph.code == code and inductor_config.get_config_copy() == settings
    run = compiled(graph, keep_eager="hvtest.cursed")
    torch.testing.assert_close(run(torch.ones(3)), graph(torch.ones(3)))


def test_a_missing_compiler_is_said_with_what_to_install():
    graph = traced(lambda x: torch.sin(x) * 7 + 3, torch.ones(5))
    with pytest.raises(RegionCompileError, match="no working C\\+\\+ compiler was found. Install one"):
        compiled(graph, inductor_configs={"cpp.cxx": (None, "no-such-compiler"), "fx_graph_cache": False, "force_disable_caches": True})


def test_the_exact_control_is_bitwise_equal_on_what_rounds_otherwise():
    """C31."""

    def program(x, w):
        y = torch.nn.functional.layer_norm(x @ w, [16])
        return torch.softmax(torch.nn.functional.gelu(y), -1), y.sum(0), torch.exp(y).mean()

    x, w = torch.randn(8, 16), torch.randn(16, 16)
    graph = traced(program, x, w)
    expected = graph(x, w)
    for mode in ("regional", "full"):
        exact = compiled(graph, mode, numerics="exact")(x, w)
        assert all(torch.equal(a.view(torch.int32), b.view(torch.int32)) for a, b in zip(exact, expected, strict=True))
    rounded = compiled(graph)(x, w)
    assert not all(torch.equal(a, b) for a, b in zip(rounded, expected, strict=True))
