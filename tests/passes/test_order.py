"""Order, effects and randomness: faults that merging by data edges alone makes real."""

from __future__ import annotations

import operator
import subprocess
import sys
import textwrap

import pytest
import torch
from small_graphs import compiled, roles_in_order, traced
from torch.fx.node import has_side_effect

from hyperviz.analysis import find_regions
from hyperviz.passes import PassConfig

log: list[str] = []


@torch.library.custom_op("hvtest::note", mutates_args=())
def note(x: torch.Tensor) -> None:
    log.append(f"note {x.sum().item():.0f}")


@note.register_fake
def _(x):
    return None


@torch.library.custom_op("hvtest::send", mutates_args=())
def send(x: torch.Tensor) -> torch.Tensor:
    log.append("send")
    return x.clone()


@torch.library.custom_op("hvtest::receive", mutates_args=())
def receive(x: torch.Tensor) -> torch.Tensor:
    log.append("receive")
    return x * 3


for op in (send, receive):
    op.register_fake(torch.empty_like)
has_side_effect(torch.ops.hvtest.send.default)
has_side_effect(torch.ops.hvtest.receive.default)


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_compute_before_an_eager_write_sees_the_old_value(mode):
    """C01."""

    def program(x):
        a = torch.relu(x) * 2
        x.add_(10)
        return a, torch.relu(x) * 3

    x = torch.arange(4.0)
    graph = traced(program, x.clone())
    run = compiled(graph, mode)
    mine = x.clone()
    a, b = run(mine)
    assert a.tolist() == [0, 2, 4, 6]
    assert b.tolist() == [30, 33, 36, 39]
    assert mine.tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_a_buffer_that_is_filled_through_views_is_read_when_full(mode):
    """C03."""

    def program(a, b):
        buffer = torch.zeros(4)
        buffer[:2].copy_(a)
        buffer[2:].copy_(b)
        return (buffer * 2 + 1).sum(), torch.relu(buffer)

    graph = traced(program, torch.ones(2), torch.ones(2))
    total, values = compiled(graph, mode)(torch.ones(2), torch.full((2,), 3.0))
    assert total.item() == 20
    assert values.tolist() == [1, 1, 3, 3]


def test_the_buffer_is_filled_eagerly_when_something_outside_the_run_sees_it():
    """C03, the rule behind it: a write stays inside a region only if nobody outside can tell."""

    def local(a):
        buffer = torch.zeros(4)
        buffer.copy_(a)
        return (buffer * 2).sum()

    def seen(a):
        buffer = torch.zeros(4)
        buffer.copy_(a)
        return buffer

    inside = find_regions(traced(local, torch.ones(4)).graph, mode="regional")
    assert not inside.reasons
    outside = find_regions(traced(seen, torch.ones(4)).graph, mode="regional")
    assert [node.name for node in outside.reasons] == ["copy_"]
    assert "writes to the memory of zeros, which output sees outside its run" in next(iter(outside.reasons.values()))


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_send_stays_before_receive(mode):
    """C05."""

    def program(x):
        y = torch.relu(x) + 1
        torch.ops.hvtest.send(y)
        z = torch.ops.hvtest.receive(x)
        return torch.relu(z) * y

    graph = traced(program, torch.ones(3))
    run = compiled(graph, mode)
    log.clear()
    result = run(torch.ones(3))
    assert log == ["send", "receive"]
    assert result.tolist() == [6, 6, 6]
    assert roles_in_order(run) == ["region_0", "hvtest.send.default", "hvtest.receive.default", "region_1"]


def test_a_storage_is_freed_only_after_its_last_reader():
    """C06; in a process of its own, since merging by data edges alone ends in a segmentation fault."""
    script = """
        import torch
        import sys; sys.path.insert(0, "tests/passes")
        from small_graphs import compiled, roles_in_order, traced

        def program(x, y):
            gathered = torch.empty_like(x)
            gathered.copy_(x)
            last = torch.relu(gathered) * 2
            torch.ops.inductor.resize_storage_bytes_(gathered, 0)
            other = torch.relu(y) + 1
            return last, other

        graph = traced(program, torch.ones(8), torch.ones(8))
        for mode in ("regional", "full"):
            run = compiled(graph, mode)
            last, other = run(torch.full((8,), 2.0), torch.ones(8))
            assert last.tolist() == [4.0] * 8 and other.tolist() == [2.0] * 8
            print(mode, roles_in_order(run))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    free = "inductor.resize_storage_bytes_.default"
    assert done.stdout.splitlines() == [
        f"regional ['region_0', 'aten.copy_.default', 'region_1', '{free}', 'region_2']",
        f"full ['region_0', '{free}']",
    ]


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_what_is_called_for_its_effect_happens_once_per_run_in_place(mode):
    """C07: an operator that returns nothing, and a write whose result nobody reads."""

    def program(x, kept):
        y = torch.relu(x) + 1
        torch.ops.hvtest.note(y)
        kept.copy_(y)
        return (y * 2,)

    graph = traced(program, torch.ones(3), torch.zeros(3))
    assert [node.name for node in graph.graph.nodes if node.op == "call_function"] == ["relu", "add", "note", "copy_", "mul"]
    run = compiled(graph, mode)
    log.clear()
    for number in (1, 2):
        kept = torch.zeros(3)
        (result,) = run(torch.full((3,), float(number)), kept)
        assert kept.tolist() == [number + 1] * 3
        assert result.tolist() == [2 * number + 2] * 3
    assert log == ["note 6", "note 9"]


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_an_effect_that_carries_a_token_happens_once_in_order(mode):
    """C08."""
    from torch._higher_order_ops.effects import with_effects

    graph = torch.fx.Graph()
    x, token = graph.placeholder("x"), graph.placeholder("token")
    a = graph.call_function(torch.ops.aten.relu.default, (x,))
    pair = graph.call_function(with_effects, (token, torch.ops.hvtest.send.default, a))
    token_out, sent = (graph.call_function(operator.getitem, (pair, index)) for index in (0, 1))
    b = graph.call_function(torch.ops.aten.mul.Tensor, (sent, a))
    graph.output((token_out, b))
    module = torch.fx.GraphModule({}, graph)
    like = traced(lambda x, y: (x, y), torch.ones(2), torch.ones(0))
    values = [node.meta["val"] for node in like.graph.nodes if node.op == "placeholder"]
    x.meta["val"], token.meta["val"], a.meta["val"], b.meta["val"] = values[0], values[1], values[0], values[0]
    pair.meta["val"], token_out.meta["val"], sent.meta["val"] = (values[1], values[0]), values[1], values[0]
    run = compiled(module, mode)
    assert run.plan.eager == dict.fromkeys(
        ("with_effects", "getitem", "getitem_1"), "carries an effect token: the effect happens once, in order"
    )
    assert roles_in_order(run) == ["region_0", "with_effects", "region_1"]


@pytest.mark.parametrize("mode", ["regional", "full"])
def test_random_draws_repeat_under_a_seed_and_match_eager_under_fallback_random(mode):
    """C10."""

    def program(x):
        kept = torch.nn.functional.dropout(x, 0.5, training=True)
        return kept, torch.rand_like(x) + 1

    x = torch.ones(64)
    graph = traced(program, x)

    def run(callable_, seed):
        torch.manual_seed(seed)
        return torch.cat([part.flatten() for part in callable_(x)])

    own = compiled(graph, mode)
    assert torch.equal(run(own, 1), run(own, 1))
    assert not torch.equal(run(own, 1), run(own, 2))
    eager = compiled(graph, mode, inductor_configs={"fallback_random": True})
    assert torch.equal(run(eager, 1), run(graph, 1))


def _index_put(x):
    x.index_put_((torch.tensor([0, 2]),), 2 * x[:2])
    x.add_(x.flip(0))
    return (x + 1,)


def _shift(x):
    x[1:] = x[:-1].clone()
    return (x + 1,)


def _foreach(x):
    torch._foreach_add_([x], [x.flip(0)])
    return (x + 1,)


@pytest.mark.parametrize("program", [_index_put, _shift, _foreach])
@pytest.mark.parametrize("local", [False, True])
def test_writes_that_inductor_gets_wrong_are_left_eager(program, local):
    """C11."""

    def function(x):
        return program(x.clone() if local else x)

    x = torch.arange(6.0)
    graph = traced(function, x.clone())
    run = compiled(graph)
    mine, eager = x.clone(), x.clone()
    assert torch.equal(run(mine)[0], graph(eager)[0])
    assert torch.equal(mine, eager)


def test_keep_eager_takes_names_operators_modules_and_globs():
    graph = traced(lambda x: torch.relu(torch.sin(x)) + torch.cos(x), torch.ones(3))
    for pattern in ("sin", "aten.sin", "aten.sin.default", "s?n"):
        found = find_regions(graph.graph, mode="regional", keep_eager=PassConfig(keep_eager=pattern).keep_eager)
        assert {node.name: reason for node, reason in found.reasons.items()} == {"sin": f"kept eager on request: matches {pattern!r}"}
        assert [[node.name for node in group] for group in found.groups] == [["relu", "cos", "add"]]
