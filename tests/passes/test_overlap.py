"""Overlap: what moves, how far, and that nothing which must stay in order changes places."""

from __future__ import annotations

import random

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx, nn
from torch.fx.experimental.proxy_tensor import make_fx

import hyperviz as hv
from hyperviz.analysis import Memory, written
from hyperviz.graph.collectives import find_collectives, launch_of
from hyperviz.graph.kinds import is_random, is_wait
from hyperviz.passes import OverlapPass, PassPipeline

c10d, aten = torch.ops._c10d_functional, torch.ops.aten
FREE = torch.ops.inductor.resize_storage_bytes_.default
ON = hv.PassConfig(enable_overlap=True)
LETTERS = {
    "all_gather_into_tensor_out": "G",
    "wait_tensor": "w",
    "reduce_scatter_tensor": "S",
    "all_reduce": "A",
    "mm": "m",
    "resize_storage_bytes_": "f",
}


class Deep(nn.Module):
    """Four layers, one matmul each in the forward and two in the backward."""

    def __init__(self, width=4):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def _sharded(size=2, **config):
    joint = hv.trace(Deep(), lambda model, x: model(x).square().sum(), {"x": torch.ones(2, 4)}, world=hv.FakeWorld(size))
    return hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*",), **config))


def _letters(joint, end=None):
    names = [str(node.target).split(".")[1] for node in joint.graph_module.graph.nodes if node.op == "call_function"]
    return "".join(LETTERS.get(name, "") for name in names)[:end]


def _edges(joint):
    return {(node.name, str(node.target), tuple(map(str, node.all_input_nodes))) for node in joint.graph_module.graph.nodes}


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"enable_overlap": 1}, "enable_overlap must be True or False, got 1"),
        ({"prefetch_buckets": -1}, "prefetch_buckets must be ≥ 0, got -1"),
        ({"prefetch_buckets": True}, "prefetch_buckets must be ≥ 0, got True"),
        ({"prefetch_buckets": None}, "prefetch_buckets must be ≥ 0, got None"),
        ({"max_bytes_in_flight": -5}, "max_bytes_in_flight must be ≥ 0, or None for no limit, got -5"),
        ({"max_bytes_in_flight": 1.5}, "max_bytes_in_flight must be ≥ 0, or None for no limit, got 1.5"),
    ],
)
def test_a_bad_value_is_refused_when_the_config_is_made(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        hv.PassConfig(**bad)


def test_the_pass_stands_behind_buckets_and_before_the_compiler():
    asked = ON.replace(fsdp_enabled=True, bucket_enabled=True, inductor_mode="regional")
    assert [one.name for one in PassPipeline.from_config(asked).passes] == ["fsdp", "bucket", "overlap", "inductor"]


def test_gathers_are_issued_ahead_and_reductions_waited_for_at_the_end():
    plain, one, two = _sharded(), _sharded(enable_overlap=True), _sharded(enable_overlap=True, prefetch_buckets=2)
    # The last weight stays whole for the backward, which reads it first; the first weight is not read there.
    assert _letters(plain) == "GwmfGwmfGwmfGwm" + "mmSw" + "mGwmSw" + "mGwmSw" + "mSw"
    assert _letters(one) == "GGwmfGwmfGwmfGwm" + "mmS" + "mGwmS" + "mwmS" + "mS" + "wwww"
    assert _letters(two) == "GGGwmfGwmfGwmfGwm" + "mmS" + "mwmS" + "mwmS" + "mS" + "wwww"


def test_zero_leaves_gathers_where_they_stand_and_waits_move_still():
    zero = _sharded(enable_overlap=True, prefetch_buckets=0)
    assert _letters(zero) == "GwmfGwmfGwmfGwm" + "mmS" + "mGwmS" + "mGwmS" + "mS" + "wwww"
    assert zero.graph_module.meta["overlap"].num_gathers == 0


@pytest.mark.parametrize("config", [{}, {"bucket_enabled": True}, {"reshard_after_forward": False}, {"prefetch_buckets": 9}], ids=str)
def test_nodes_and_edges_stay_what_they_are_and_what_moved_is_told(config):
    plain, moved = _sharded(**config), _sharded(**config, enable_overlap=True)
    assert _edges(plain) == _edges(moved)
    before, after = ([node.name for node in joint.graph_module.graph.nodes] for joint in (plain, moved))
    overlap = moved.graph_module.meta["overlap"]
    assert overlap.moves and all(before[move.before] == move.node == after[move.after] for move in overlap.moves)
    told = {move.node for move in overlap.moves}
    assert [name for name in before if name not in told] == [name for name in after if name not in told]
    assert str(overlap).splitlines()[1:] == [f"  {move}" for move in overlap.moves]
    assert overlap.sentence in moved.notes and overlap.sentence in hv.plan(moved).graph.notes
    waits = [one for one in find_collectives(moved.graph_module.graph) if not one.waits]
    assert not waits


def test_reasons_name_the_bucket_the_distance_and_the_first_use():
    reasons = {move.reason for move in _sharded(enable_overlap=True, bucket_enabled=True).graph_module.meta["overlap"].moves}
    assert "blocks.1 gather (forward) is issued 1 bucket ahead" in reasons
    assert "blocks.2 reduce-scatter (backward) is waited for at the end" in reasons
    two = {move.reason for move in _sharded(enable_overlap=True, prefetch_buckets=2).graph_module.meta["overlap"].moves}
    assert "blocks.2 gather (forward) is issued 2 buckets ahead" in two


def _in_flight(graph):
    """The most bytes in flight, by a count of one's own: a gather's until its first wait, a reduction's input likewise."""
    found = find_collectives(graph)
    at = {one.launch: one.payload_bytes for one in found} | {one.waits[0]: -one.payload_bytes for one in found}
    total = most = 0
    for node in graph.nodes:
        total += at.get(node.name, 0)
        most = max(most, total)
    return most


def test_a_limit_on_bytes_is_kept_and_says_what_it_cost():
    free = _sharded(enable_overlap=True, prefetch_buckets=3)
    overlap = free.graph_module.meta["overlap"]
    assert overlap.most_bytes_in_flight == _in_flight(free.graph_module.graph) == 4 * 64 and not overlap.limits
    for limit in (64, 130, 200):
        held = _sharded(enable_overlap=True, prefetch_buckets=3, max_bytes_in_flight=limit)
        overlap = held.graph_module.meta["overlap"]
        assert overlap.most_bytes_in_flight == _in_flight(held.graph_module.graph) == limit // 64 * 64
        assert _edges(held) == _edges(free) and overlap.limits and overlap.limits[0] in str(overlap)
    assert any("bytes would be in flight, and max_bytes_in_flight is 200" in line for line in overlap.limits)
    assert any("is waited for before the end: max_bytes_in_flight asks to make room for" in line for line in overlap.limits)
    # What cannot be kept is not: one gather alone is larger, and its place is the one it had.
    none = _sharded(enable_overlap=True, max_bytes_in_flight=0).graph_module.meta["overlap"]
    assert none.num_gathers == 0 and none.most_bytes_in_flight == 64
    assert none.limits[-1] == "64 bytes are in flight at once all the same: nothing is issued later than where it stood"


def test_the_sum_over_replicas_is_issued_with_the_next_reduction_so_that_both_steps_have_compute_beside_them():
    plain, moved = (_sharded(4, fsdp_degree=2, enable_overlap=wish) for wish in (False, True))
    assert _letters(plain).endswith("mmSwAw" + "mGwmSwAw" + "mGwmSwAw" + "mSwAw")
    assert _letters(moved).endswith("mmS" + "mGwmSwA" + "mwmSwA" + "mSwA" + "wAwwww")
    assert _edges(plain) == _edges(moved)
    reasons = [move.reason for move in moved.graph_module.meta["overlap"].moves]
    assert any(reason.endswith("is waited for when the next reduction is issued") for reason in reasons)
    assert any("is issued later, so that there is compute between it and reduce_scatter_tensor" in reason for reason in reasons)


def test_a_second_run_changes_nothing_even_if_it_knows_nothing_of_the_first():
    for config in ({}, {"bucket_enabled": True}, {"max_bytes_in_flight": 130}, {"size": 4, "fsdp_degree": 2}):
        moved = _sharded(enable_overlap=True, **config).graph_module
        config.pop("size", None)
        order = [node.name for node in moved.graph.nodes]
        first = moved.meta["overlap"]
        assert OverlapPass().run(moved, ON) is moved and moved.meta["overlap"] is first
        del moved.meta["overlap"]
        OverlapPass().run(moved, ON.replace(**config))
        assert [node.name for node in moved.graph.nodes] == order and not moved.meta["overlap"].moves


def test_a_graph_that_was_sharded_before_is_overlapped_when_that_is_asked_for():
    sharded = _sharded()
    config = ON.replace(fsdp_enabled=True, fsdp_wrap=("blocks.*",))
    later = hv.apply_passes(sharded, config)
    assert later.graph_module.code == _sharded(enable_overlap=True).graph_module.code
    assert later.notes == (*sharded.notes, later.graph_module.meta["overlap"].sentence) and "overlap" not in sharded.graph_module.meta
    assert hv.apply_passes(later, config) is later
    with pytest.raises(ValueError, match="bucket_enabled must be set before the graph goes through OverlapPass"):
        hv.apply_passes(later, config.replace(bucket_enabled=True))


def test_without_the_wish_and_without_collectives_a_graph_stays_as_it_is():
    joint = hv.trace(Deep(), lambda model, x: model(x).sum(), {"x": torch.ones(2, 4)})
    code = joint.graph_module.code
    assert OverlapPass().run(joint.graph_module, hv.PassConfig()) is joint.graph_module and "overlap" not in joint.graph_module.meta
    after = hv.apply_passes(joint, ON)
    assert after.graph_module.code == code
    assert "overlap: nothing to move, the graph has no collective that is waited for elsewhere" in after.notes


@pytest.fixture(scope="module")
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD.group_name
    dist.destroy_process_group()


def _traced(function, *inputs):
    return make_fx(function, tracing_mode="fake")(*inputs)


def _names(graph):
    return [str(node.target).split(".")[1] for node in graph.nodes if node.op == "call_function"]


def test_a_captured_graph_of_someone_else_is_overlapped_too(group):
    def step(x, y):
        gathered = c10d.wait_tensor(c10d.all_gather_into_tensor(y.to(torch.bfloat16).view(-1), 1, group))
        summed = c10d.wait_tensor(c10d.all_reduce(x * 2, "sum", group))
        z = torch.relu(x) + x.sin()
        return z @ z.t(), summed + gathered.view(4, 4)

    graph_module = _traced(step, torch.ones(4, 4), torch.ones(4, 4))
    OverlapPass().run(graph_module, ON)
    assert _names(graph_module.graph) == [
        *("_to_copy", "view", "all_gather_into_tensor", "mul", "all_reduce", "relu", "sin", "add", "t", "mm"),
        *("wait_tensor", "wait_tensor", "view", "add"),
    ]
    reasons = {move.reason for move in graph_module.meta["overlap"].moves}
    assert reasons == {f"{name} is waited for where it is needed first, before add_1" for name in ("all_gather_into_tensor", "all_reduce")}


def test_gathers_of_what_was_computed_do_not_count_among_those_that_are_issued_ahead(group):
    def step(x, first, last):
        y = x @ c10d.wait_tensor(c10d.all_gather_into_tensor(first, 1, group))
        y = c10d.wait_tensor(c10d.all_gather_into_tensor(y, 1, group)).sin()
        return y @ c10d.wait_tensor(c10d.all_gather_into_tensor(last, 1, group))

    graph_module = _traced(step, *(torch.ones(4, 4) for _ in range(3)))
    OverlapPass().run(graph_module, ON)
    gather = "all_gather_into_tensor"
    assert _names(graph_module.graph) == [gather, gather, "wait_tensor", "mm", gather, "wait_tensor", "sin", "wait_tensor", "mm"]


def test_nothing_passes_what_writes_to_or_frees_memory_that_is_under_way(group):
    def step(x, y):
        x = x * 1
        launch = c10d.all_reduce(x, "sum", group)
        y = y.cos()
        result = c10d.wait_tensor(launch)
        x.add_(1)
        return y + x, result

    graph_module = _traced(step, torch.ones(4), torch.ones(4))
    OverlapPass().run(graph_module, ON)
    # The input is overwritten when the sum is there, not while it is under way.
    assert _names(graph_module.graph) == ["mul", "all_reduce", "cos", "wait_tensor", "add_", "add"]


def test_nothing_passes_a_send_or_a_call_that_nobody_can_see_into(group):
    def step(x, y):
        z = x.sin()
        gathered = c10d.wait_tensor(c10d.all_gather_into_tensor(y, 1, group))
        return z, gathered

    for between, arguments in ((None, ()), (print, ("step",)), (torch.ops.c10d.send.default, ([], None, 0, 0))):
        graph_module = _traced(step, torch.ones(4), torch.ones(4))
        first = next(node for node in graph_module.graph.nodes if is_wait(node))
        with graph_module.graph.inserting_after(first):
            other = graph_module.graph.call_function(aten.sin.default, (first.args[0].args[0],))
            with first.meta["val"].fake_mode:
                other.meta["val"] = torch.empty(4)
        if between is not None:
            with graph_module.graph.inserting_after(first):
                graph_module.graph.call_function(between, arguments)
        OverlapPass().run(graph_module, ON)
        names = [node.name for node in graph_module.graph.nodes]
        assert (names.index(first.name) < names.index(other.name)) is (between is not None), between


LAUNCHES = {
    "gather": lambda value, group: c10d.all_gather_into_tensor_out(value, 1, group, out=torch.empty(8)),
    "sum": lambda value, group: c10d.all_reduce(value, "sum", group),
    "sum_": lambda value, group: c10d.all_reduce_(value.clone(), "sum", group),
    "scatter": lambda value, group: c10d.reduce_scatter_tensor(value, "sum", 1, group),
    "second": lambda value, group: c10d.all_reduce(c10d.wait_tensor(LAUNCHES["scatter"](value, group)), "sum", group),
}


def _random_program(seed, group):
    """A program of gathers, sums and scatters, whose waits stand anywhere behind, among compute, writes, frees and random numbers."""
    choose = random.Random(seed)

    def step(*inputs):
        values, flying = [value * 1 for value in inputs], []
        for _ in range(24):
            value, other = choose.choice(values), choose.choice(values)
            kind = choose.choice(("add", "add", "view", "write", "draw", "gather", "sum", "scatter", "sum_", "second", "wait", "wait"))
            if kind == "add":
                values.append(value + other.sin())
            elif kind == "view":
                values.append(value.view(2, 4).t().reshape(8) if choose.random() < 0.5 else value.view(8))
            elif kind == "write" and not any(value.untyped_storage()._cdata == one for _, *used in flying for one in used):
                value.mul_(0.5)
            elif kind == "draw":
                values.append(torch.rand_like(value) + value)
            elif kind == "wait" and flying:
                values.append(c10d.wait_tensor(flying.pop(choose.randrange(len(flying)))[0]))
            elif kind in LAUNCHES:
                launch = LAUNCHES[kind](value, group)
                flying.append((launch, value.untyped_storage()._cdata, launch.untyped_storage()._cdata))
        return [*values[len(inputs) :], *(c10d.wait_tensor(launch) for launch, *_ in flying)]

    graph_module = _traced(step, *(torch.ones(8) for _ in range(3)))
    graph, memory = graph_module.graph, Memory(graph_module.graph)
    output = graph.output_node()
    for node in [node for node in graph.nodes if node.op == "call_function"]:
        touching = memory.touching(node)
        if choose.random() < 0.3 and output not in touching and memory.of(node) is node:
            last = max([*touching, *(user for one in touching for user in one.users if is_wait(user))])
            with graph.inserting_after(last):
                graph.call_function(FREE, (node, 0))
    graph_module.recompile()
    return graph_module


def _conflicts(graph):
    """Every pair of nodes that must stay in order, found by trying every pair."""
    memory, nodes = Memory(graph), list(graph.nodes)
    reads = {node: {memory.of(value) for value in (node, *node.all_input_nodes)} for node in nodes}
    writes = {node: {memory.of(value) for value in written(node)} for node in nodes}
    for node in nodes:
        if is_wait(node):
            reads[node] |= {memory.of(value) for value in launch_of(node).all_input_nodes}
            writes[node].add(memory.of(node))
    for index, node in enumerate(nodes):
        for other in nodes[:index]:
            if (writes[node] & (reads[other] | writes[other])) or (writes[other] & reads[node]) or (is_random(node) and is_random(other)):
                yield other, node


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_keep_every_order_that_must_hold_and_their_bits(group, seed):
    graph_module = _random_program(seed, group)
    inputs = [torch.linspace(-1, 1, 8) * (index + 1) for index in range(3)]
    conflicts = list(_conflicts(graph_module.graph))
    standing = [node for node in graph_module.graph.nodes if node.op == "call_function" and "c10d" not in str(node.target)]

    def run():
        torch.manual_seed(seed)
        with torch.no_grad():
            return [value.clone() for value in graph_module(*(value.clone() for value in inputs))]

    before = run()
    config = ON.replace(prefetch_buckets=seed % 4, max_bytes_in_flight=(None, 64, 100)[seed % 3])
    OverlapPass().run(graph_module, config)
    place = {node: index for index, node in enumerate(graph_module.graph.nodes)}
    assert all(place[first] < place[second] for first, second in conflicts)
    told = {move.node for move in graph_module.meta["overlap"].moves}
    kept = [node for node in standing if node.name not in told]
    assert kept == sorted(kept, key=place.__getitem__)
    assert all(torch.equal(one, other) for one, other in zip(before, run(), strict=True))
    assert isinstance(graph_module, fx.GraphModule)
