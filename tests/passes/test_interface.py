"""How a compiled graph is called, what comes back, and what stays as it was."""

from __future__ import annotations

import operator

import pytest
import torch
from small_graphs import compiled, roles_in_order, traced
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from hyperviz.graph import copy_graph_module
from hyperviz.passes import InductorPass, PassConfig


def _step(x, w):
    return (torch.relu(x @ w) * 2 + 1).sum(1)


def _printed(graph_module):
    return graph_module.code, [(node.name, dict(node.meta.get("custom") or {})) for node in graph_module.graph.nodes]


def test_the_same_arguments_serve_any_number_of_calls():
    """C12."""
    graph = traced(_step, torch.ones(4, 4), torch.ones(4, 4))
    for mode in ("off", "regional"):
        arguments = [torch.ones(4, 4), torch.ones(4, 4)]
        run = graph if mode == "off" else compiled(graph, mode)
        first, second = run(*arguments), run(*arguments)
        assert len(arguments) == 2
        assert torch.equal(first, second)


def test_structure_and_types_come_back_as_they_went_in():
    """C13, and line 11 of the contract."""

    def program(batch):
        y = torch.relu(batch["x"]) + 1
        return {"loss": y.sum(), "grads": [y * 2, None, (y, y)], "same": batch["x"], "number": 3}

    x = torch.tensor([-1.0, 2.0])
    graph = traced(program, {"x": x})
    result = compiled(graph)({"x": x})
    expected = graph({"x": x})
    assert list(result) == list(expected) == ["loss", "grads", "same", "number"]
    assert isinstance(result["grads"], list) and isinstance(result["grads"][2], tuple)
    assert result["grads"][1] is None and result["number"] == 3 and result["same"] is x
    assert result["grads"][2][0] is result["grads"][2][1]
    assert torch.equal(result["loss"], expected["loss"]) and torch.equal(result["grads"][0], expected["grads"][0])


@pytest.mark.parametrize("output", [lambda y: y, lambda y: [y], lambda y: (y,)])
def test_a_bare_tensor_a_list_and_a_tuple_stay_that(output):
    """C13."""
    graph = traced(lambda x: output(torch.relu(x) * 2), torch.ones(3))
    result = compiled(graph)(torch.ones(3))
    assert type(result) is type(output(torch.ones(3)))


@pytest.mark.parametrize("nesting", [list, tuple])
def test_a_result_exported_whole_is_split_and_rebuilt(nesting):
    """Line 11: a multi-result operator whose results leave the region as one value."""
    graph = traced(lambda x: torch.ops.aten.native_layer_norm(torch.relu(x), [4], None, None, 1e-5), torch.ones(2, 4))
    (norm,) = (node for node in graph.graph.nodes if "native_layer_norm" in node.name)
    output = graph.graph.output_node()
    output.args = ({"all": norm, "first": output.args[0][0]},)
    norm.meta["val"] = nesting(norm.meta["val"])
    graph.recompile()
    x = torch.randn(2, 4)
    result, expected = compiled(graph)(x), graph(x)
    assert type(result["all"]) is nesting and len(result["all"]) == 3
    torch.testing.assert_close(list(result["all"]), list(expected["all"]))
    torch.testing.assert_close(result["first"], expected["first"])


@pytest.mark.parametrize("tracing_mode", ["fake", "symbolic", "real"])
def test_graphs_of_every_tracing_mode_compile_from_plain_python(tracing_mode):
    """C14."""
    x, w = torch.randn(5, 3), torch.randn(3, 6)
    graph = make_fx(_step, tracing_mode=tracing_mode)(x, w)
    run = compiled(graph)
    assert len(run.plan.regions) == 1
    torch.testing.assert_close(run(x, w), graph(x, w))


def test_a_symbolic_graph_serves_other_sizes():
    """C14."""
    graph = make_fx(_step, tracing_mode="symbolic")(torch.randn(5, 3), torch.randn(3, 6))
    x, w = torch.randn(9, 4), torch.randn(4, 2)
    torch.testing.assert_close(compiled(graph)(x, w), graph(x, w))


def test_the_original_stays_as_it_was_through_every_mode():
    """C15."""
    graph = traced(_step, torch.ones(4, 4), torch.ones(4, 4))
    before = _printed(graph)
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    expected = graph(x, w)
    for mode in ("regional", "full", "regional"):
        torch.testing.assert_close(compiled(graph, mode)(x, w), expected)
        assert _printed(graph) == before
        assert torch.equal(graph(x, w), expected)
    assert "inductor_compiled" not in graph.meta


def test_a_shared_custom_dict_is_not_tagged_through_another_node():
    """C16."""
    graph = traced(_step, torch.ones(4, 4), torch.ones(4, 4))
    shared = {"mine": {"kept": True}}
    for node in graph.graph.nodes:
        node.meta["custom"] = shared
    run = compiled(graph, keep_eager="relu")
    assert shared == {"mine": {"kept": True}}
    for module in (run.graph_module.region_0, run.graph_module.region_1):
        for node in module.graph_module.graph.nodes:
            if node.op == "call_function":
                assert node.meta["custom"]["compile_with_inductor"] == {"inductor_configs": {}, "inductor_region": module.name}
                assert node.meta["custom"]["mine"] == {"kept": True}
    (relu,) = (node for node in run.graph_module.graph.nodes if node.name == "relu")
    assert relu.meta["custom"] == {"mine": {"kept": True}}
    members = [node for node in run.graph_module.region_1.graph_module.graph.nodes if node.op == "call_function"]
    assert len({id(node.meta["custom"]) for node in members}) == len(members)


def test_attributes_of_the_module_survive():
    """C17."""
    graph = traced(_step, torch.ones(4, 4), torch.ones(4, 4))
    graph.state_fqns = ["w"]
    graph.meta["mine"] = 1
    run = compiled(graph)
    assert run.graph_module.state_fqns == ["w"]
    assert run.graph_module.meta["mine"] == 1
    assert run.graph_module.meta["inductor_compiled"] == "regional"


def test_a_conditional_and_the_graphs_that_it_calls_go_together():
    """C20."""

    def program(x):
        y = torch.relu(x)
        return torch.cond(x.sum() > 0, lambda z: z * 2, lambda z: z - 1, (y,)) + 1

    graph = traced(program, torch.ones(3))
    run = compiled(graph)
    assert len(run.plan.regions) == 1
    assert {"true_graph_0", "false_graph_0", "cond"} <= set(run.plan.regions[0].nodes)
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(run(x), graph(x))


def test_a_conditional_that_calls_an_effect_stays_eager_with_its_graphs():
    """C20."""

    def program(x):
        return torch.cond(x.sum() > 0, lambda z: z * 2, lambda z: z - 1, (torch.relu(x),)) + 1

    graph = traced(program, torch.ones(3))
    inner = graph.true_graph_0.graph
    (product,) = (node for node in inner.nodes if node.op == "call_function")
    with inner.inserting_before(product):
        inner.call_function(print, ("inside",))
    graph.true_graph_0.recompile()
    run = compiled(graph)
    assert "cond" in run.plan.eager and "print" in run.plan.eager["cond"]
    assert [region.nodes for region in run.plan.regions] == [("sum_1", "gt", "relu"), ("add",)] or len(run.plan.regions) == 2
    assert torch.equal(run(torch.ones(3)), torch.full((3,), 3.0))


def test_flex_attention_and_its_score_function_go_together():
    """C20."""
    from torch._higher_order_ops.flex_attention import flex_attention
    from torch.nn.attention.flex_attention import create_block_mask

    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device="cpu")

    def program(q, k, v):
        halved = lambda score, b, h, i, j: score * 0.5  # noqa: E731
        options = {"OUTPUT_LOGSUMEXP": False, "OUTPUT_MAX": False, "BACKEND": "AUTO"}
        out, *_ = flex_attention(torch.relu(q), k, v, halved, mask.as_tuple(), 0.25, options)
        return out * 2

    inputs = [torch.randn(1, 2, 128, 16) for _ in range(3)]
    graph = make_fx(program, tracing_mode="real")(*inputs)
    # torch's CPU template for flex attention takes no epilogue.
    run = compiled(graph, keep_eager="aten.mul")
    (region,) = run.plan.regions
    graphs = {name for name, child in graph.named_children() if isinstance(child, fx.GraphModule)}
    assert len(graphs) == 2 and graphs | {"flex_attention"} <= set(region.nodes)
    torch.testing.assert_close(run(*inputs), graph(*inputs), rtol=1e-4, atol=1e-4)
    apart = compiled(graph, keep_eager=("aten.mul", "flex_attention"))
    assert not graphs & set(apart.plan.region_of())
    torch.testing.assert_close(apart(*inputs), graph(*inputs), rtol=1e-4, atol=1e-4)


def test_nodes_inserted_without_values_get_them_on_the_graphs_own_mode():
    """C21, and line 9."""
    graph = traced(_step, torch.ones(4, 4), torch.ones(4, 4))
    (product,) = (node for node in graph.graph.nodes if node.name == "mm")
    with graph.graph.inserting_before(product):
        padded = graph.graph.call_function(torch.ops.aten.mul.Tensor, (product.args[1], 2.0))
        copied = graph.graph.call_function(torch.ops.aten.clone.default, (padded,))
    product.args = (product.args[0], copied)
    graph.recompile()
    mode = product.meta["val"].fake_mode
    run = compiled(graph)
    region = run.graph_module.region_0.graph_module
    assert all(node.meta["val"].fake_mode is mode for node in region.graph.nodes if node.op == "call_function")
    assert "val" not in padded.meta
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    torch.testing.assert_close(run(x, w), graph(x, w))


class Schedule(torch.nn.Module):
    """Runs its two stages; counts how often it was called."""

    def __init__(self, stages):
        super().__init__()
        self.stages = torch.nn.ModuleList(stages)
        self.calls = 0

    def map_stage_graphs(self, function):
        self.stages = torch.nn.ModuleList([function(stage) for stage in self.stages])

    def forward(self, x):
        self.calls += 1
        for stage in self.stages:
            (x,) = stage(x)
        return x


def _stub(module):
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("schedule", (x,)))
    return fx.GraphModule({"schedule": module}, graph)


def test_a_schedule_is_never_run_while_compiling_and_once_per_call_after():
    """C22, and line 16."""
    stages = [traced(lambda x: (torch.relu(x) * 2,), torch.ones(3)), traced(lambda x: (torch.sin(x) + 1,), torch.ones(3))]
    schedule = Schedule(stages)
    stub = _stub(schedule)
    expected = stub(torch.ones(3))
    schedule.calls = 0
    result = InductorPass().run(stub, PassConfig(inductor_mode="regional"))
    assert result is stub and schedule.calls == 0
    assert [stage.meta["inductor_compiled"] for stage in schedule.stages] == ["regional", "regional"]
    torch.testing.assert_close(stub(torch.ones(3)), expected)
    assert schedule.calls == 1


def test_a_module_that_is_no_schedule_is_refused_by_name():
    """Line 16."""
    stub = _stub(torch.nn.ReLU())
    with pytest.raises(ValueError, match=r"call_module 'schedule' \(ReLU\) must be a pipeline schedule with map_stage_graphs"):
        InductorPass().run(stub, PassConfig(inductor_mode="full"))


def test_outputs_carry_no_autograd_although_parameters_require_it():
    """C25."""

    def program(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(torch.relu(q), k, v, is_causal=True) * 2

    inputs = [torch.randn(1, 2, 8, 16, requires_grad=True) for _ in range(3)]
    graph = make_fx(program, tracing_mode="fake")(*inputs)
    run = compiled(graph, keep_eager="aten.mul")
    result = run(*inputs)
    assert not result.requires_grad and result.grad_fn is None
    assert all(tensor.requires_grad for tensor in inputs)
    with torch.no_grad():
        torch.testing.assert_close(result, graph(*inputs))


def test_a_region_is_a_named_module_that_can_be_read():
    """Line 14."""
    graph = traced(_step, torch.ones(4, 4), torch.ones(4, 4))
    run = compiled(graph)
    assert roles_in_order(run) == ["region_0"]
    region = run.graph_module.region_0
    assert region.nodes == ("mm", "relu", "mul", "add", "sum_1")
    assert "torch.ops.aten.mm.default" in region.source
    assert "self.region_0(" in run.graph_module.code
    (call,) = (node for node in run.graph_module.graph.nodes if node.op == "call_module")
    assert call.name == "region_0" and call.meta["hyperviz_region"] == region.nodes


def test_a_name_that_is_taken_does_not_hide_a_region():
    graph = fx.Graph()
    x = graph.placeholder("region_0")
    graph.output(graph.call_function(torch.ops.aten.relu.default, (x,)))
    module = fx.GraphModule({}, graph)
    module.region_0 = "mine"
    x.meta["val"] = next(iter(traced(torch.relu, torch.ones(3)).graph.nodes)).meta["val"]
    run = compiled(module)
    assert module.region_0 == "mine" and run.graph_module.region_0 == "mine"
    assert run(torch.ones(3)).tolist() == [1, 1, 1]


def test_a_copy_shares_nothing_that_a_pass_edits():
    graph = traced(_step, torch.ones(4, 4), torch.ones(4, 4))
    for node in graph.graph.nodes:
        node.meta["custom"] = {"nest": {"list": [1]}}
    copy = copy_graph_module(graph)
    assert copy.code == graph.code
    for node in copy.graph.nodes:
        node.meta["custom"]["nest"]["list"].append(2)
        node.meta["added"] = True
    assert all(node.meta["custom"] == {"nest": {"list": [1]}} and "added" not in node.meta for node in graph.graph.nodes)
    assert operator.ne(id(copy.graph), id(graph.graph))
