"""What torch 2.13 gets right, kept right: shapes of programs on which a partition of one's own could stumble."""

from __future__ import annotations

import pytest
import torch
from small_graphs import compiled, traced
from torch.fx.experimental.proxy_tensor import make_fx

from hyperviz.measure.peak import peak_bytes


def _same(run, graph, *inputs):
    mine = [tensor.clone() for tensor in inputs]
    eager = [tensor.clone() for tensor in inputs]
    result, expected = run(*mine), graph(*eager)
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(mine, eager)
    return result


def test_none_duplicates_a_passed_input_and_a_view_of_one_in_one_output():
    def program(x, y):
        z = torch.relu(x) + y
        return z, None, z, x, y.view(4), x.t()

    graph = traced(program, torch.ones(2, 2), torch.ones(2, 2))
    run = compiled(graph)
    x, y = torch.randn(2, 2), torch.randn(2, 2)
    result = run(x, y)
    assert result[0] is result[2] and result[1] is None and result[3] is x
    assert result[4].untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    _same(run, graph, x, y)


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_an_eager_write_to_a_base_shows_in_a_compiled_view_of_it(mode):
    def program(x):
        base = torch.relu(x) * 2
        view = base[1:]
        base.add_(1)
        return base, view, view * 3

    graph = traced(program, torch.ones(4))
    run = compiled(graph, mode)
    base, view, product = _same(run, graph, torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert product.tolist() == [15, 21, 27]
    assert torch.equal(base[1:], view)


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_aliased_inputs(mode):
    def program(x, y):
        a = torch.relu(x) + 1
        y.mul_(2)
        return a + x, y + 1

    storage = torch.arange(6.0)
    graph = make_fx(program, tracing_mode="fake")(storage[:4], storage[2:])
    run = compiled(graph, mode)
    mine, eager = torch.arange(6.0), torch.arange(6.0)
    torch.testing.assert_close(run(mine[:4], mine[2:]), graph(eager[:4], eager[2:]))
    assert torch.equal(mine, eager)


def test_several_results_of_which_some_are_read_beyond_an_eager_node():
    def program(x):
        values, indices = torch.relu(x).topk(2)
        doubled = values * 2
        x.add_(1)
        return doubled, indices + 1

    graph = traced(program, torch.randn(5))
    (first, second) = [node for node in graph.graph.nodes if "getitem" in node.name]
    late = next(node for node in graph.graph.nodes if node.name == "add_")
    late.append(second)
    graph.recompile()
    run = compiled(graph)
    assert run.plan.region_of()["getitem"] is run.plan.region_of()["getitem_1"] is run.plan.region_of()["topk"]
    _same(run, graph, torch.randn(5))
    assert [node.name for node in graph.graph.nodes if "getitem" in node.name] == [first.name, second.name]


def test_sizes_that_depend_on_data():
    def program(x):
        y = torch.relu(x) * 2
        where = torch.nonzero(y)
        return y.sum(), (where + 1).float()

    graph = make_fx(program, tracing_mode="symbolic")(torch.tensor([0.0, 1.0, 2.0]))
    run = compiled(graph)
    _same(run, graph, torch.tensor([3.0, 0.0, 0.0]))


def test_item():
    def program(x):
        y = torch.relu(x) * 2
        number = y.sum().item()
        return y + number, torch.sin(y)

    graph = make_fx(program, tracing_mode="symbolic")(torch.tensor([1.0, 2.0]))
    run = compiled(graph)
    _same(run, graph, torch.tensor([3.0, 4.0]))


def test_an_assertion_inside_a_region_still_asserts():
    def program(x, flag):
        torch.ops.aten._assert_async.msg(flag, "flag must hold")
        return torch.relu(x) * 2

    graph = traced(program, torch.ones(2), torch.tensor(True))
    run = compiled(graph)
    assert "registered as side-effectful" in run.plan.eager["_assert_async"]
    assert run(torch.ones(2), torch.tensor(True)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="flag must hold"):
        run(torch.ones(2), torch.tensor(False))


def test_inference_mode():
    graph = traced(lambda x: torch.relu(x) * 2 + 1, torch.ones(3))
    run = compiled(graph)
    with torch.inference_mode():
        assert run(torch.ones(3)).tolist() == [3, 3, 3]


def test_tensor_literals():
    def program(x):
        return torch.relu(x) + torch.tensor([1.0, 2.0, 3.0])

    graph = traced(program, torch.ones(3))
    _same(compiled(graph), graph, torch.randn(3))


def test_a_graph_without_anything_to_compile_or_without_inputs():
    empty = traced(lambda x: x, torch.ones(3))
    run = compiled(empty)
    assert not run.plan.regions and run.graph_module.meta["inductor_compiled"] == "regional"
    x = torch.ones(3)
    assert run(x) is x
    constant = traced(lambda: torch.ones(3) * 2)
    assert compiled(constant)().tolist() == [2, 2, 2]


def test_a_view_of_what_a_decomposition_lays_out_otherwise():
    """``cat`` of an empty and a transposed tensor, as T5's cache makes it: contiguous in eager, transposed in Inductor."""

    def program(x):
        joined = torch.cat([torch.empty(0), x.transpose(1, 2)], 1)
        return joined.view(4, 6) * 2

    graph = traced(program, torch.ones(4, 2, 3))
    _same(compiled(graph), graph, torch.randn(4, 2, 3))


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_running_statistics_are_updated_once_in_place(mode):
    """Batch norm writes to its buffers without saying so in its schema."""

    def program(x, weight, bias, mean, variance):
        y = torch.relu(x) + 1
        out = torch.nn.functional.batch_norm(y, mean, variance, weight, bias, training=True)
        return out * 2

    inputs = [torch.randn(4, 3), torch.ones(3), torch.zeros(3), torch.zeros(3), torch.ones(3)]
    graph = traced(program, *inputs)
    run = compiled(graph, mode)
    _same(run, graph, *inputs)


def test_a_region_releases_its_inputs_as_soon_as_it_has_read_them():
    """What only the region needs is gone before the region ends: without it, a sharded step held a tenth more at its peak."""

    def program(x):
        a = torch.sin(x)
        b = torch.ops.aten.cumsum(a, 0)  # eager: makes the region's input
        c = torch.mm(b, b)
        return torch.mm(torch.mm(c, c), c)

    graph = traced(program, torch.randn(256, 256))
    run = compiled(graph, keep_eager=("aten.cumsum",))
    flat = [torch.randn(256, 256)]
    size = 256 * 256 * 4
    run(*flat), graph(*flat)
    eager = peak_bytes(lambda: graph(*flat), torch.device("cpu"))
    assert eager == 3 * size
    assert peak_bytes(lambda: run(*flat), torch.device("cpu")) <= eager
