"""What is alive when, and what each step moves: against real runs, against torch's own tracker, and on graphs worked out by hand."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives  # registers the collectives
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import hyperviz as hv
from hyperviz.analysis import find_regions, schedule_of
from hyperviz.measure.live import live_bytes
from hyperviz.models import GPT, GPTConfig
from hyperviz.passes import CompiledRegion

aten, c10d = torch.ops.aten, torch.ops._c10d_functional
FREE = torch.ops.inductor.resize_storage_bytes_.default
KB = 1024


def next_byte(model, tokens):
    return torch.nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def gpt_step(shard: bool, **config):
    torch.manual_seed(0)
    model, tokens = GPT(GPTConfig(num_layers=2, num_heads=2, width=32, context=16)), torch.randint(0, 256, (2, 16))
    joint = hv.trace(model, next_byte, {"tokens": tokens})
    if shard:
        joint = hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*",), **config), model=model)
    return joint, joint.flat_inputs(model, {"tokens": tokens})


@pytest.fixture(scope="module")
def one_rank():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def traced(function, *inputs, **options) -> fx.GraphModule:
    return make_fx(function, **{"tracing_mode": "fake", **options})(*inputs)


def curve(graph_module, regions=None):
    return {step.name: step.live_bytes for step in schedule_of(graph_module, regions).steps}


# Against reality.


@pytest.mark.parametrize("shard", [False, True], ids=["whole", "sharded over a real group"])
def test_the_curve_is_what_a_real_run_holds_but_for_operators_own_scratch_memory(shard, one_rank):
    joint, flat = gpt_step(shard)
    joint.run(*flat)
    real, schedule = live_bytes(joint.graph_module, flat), schedule_of(joint.graph_module)
    excess = {step.name: real[step.name] - step.live_bytes for step in schedule.steps}
    kinds = {step.name: step.kind for step in schedule.steps}
    assert min(excess.values()) == 0
    assert all(excess[name] == 0 for name, kind in kinds.items() if kind in ("view", "allocate", "wait", "effect"))
    assert sum(value == 0 for value in excess.values()) > 0.75 * len(excess)
    assert max(real.values()) <= schedule.peak_bytes + max(excess.values())


def test_two_schedules_differ_by_what_freeing_gathered_storages_saves(one_rank):
    peaks = []
    for reshard in (True, False):
        joint, flat = gpt_step(True, reshard_after_forward=reshard)
        joint.run(*flat)
        real, schedule = live_bytes(joint.graph_module, flat), schedule_of(joint.graph_module)
        peaks.append((schedule.peak_bytes, max(real.values())))
        assert 0 <= peaks[-1][1] - peaks[-1][0] < 0.05 * peaks[-1][0]
    assert peaks[0] < peaks[1]


def test_a_compiled_run_stays_between_the_two_numbers():
    joint, flat = gpt_step(False)
    compiled = hv.compile(joint, hv.PassConfig(inductor_mode="regional", keep_eager=("aten.native_layer_norm*",)))
    compiled(*flat)
    real, schedule = live_bytes(compiled.graph_module, flat), schedule_of(compiled.graph_module)
    regions = [step for step in schedule.steps if step.name.startswith("region_")]
    assert [step.name for step in regions] == [region.name for region in compiled.plan.regions]
    assert [step.flops for step in regions] == [region.flops for region in compiled.plan.regions]
    for step in regions:
        assert step.least_bytes <= real[step.name] <= step.live_bytes, step.name
    assert schedule.least_peak_bytes <= max(real.values()) <= schedule.peak_bytes


def test_a_plan_promises_what_the_compiled_graph_has():
    joint, _ = gpt_step(False)
    config = hv.PassConfig(inductor_mode="regional", keep_eager=("aten.native_layer_norm*",))
    planned = schedule_of(joint.graph_module, find_regions(joint.graph_module.graph, mode="regional", keep_eager=config.keep_eager))
    compiled = schedule_of(hv.compile(joint, config).graph_module)

    def facts(schedule):
        return [(step.name, step.live_bytes, step.least_bytes, step.work) for step in schedule.steps if step.name.startswith("region_")]

    assert facts(planned) == facts(compiled)
    assert (planned.peak_bytes, planned.least_peak_bytes) == (compiled.peak_bytes, compiled.least_peak_bytes)


# Against torch's own tracker, where it applies.


def test_torchs_own_tracker_says_the_same_without_frees_and_collectives():
    estimator = pytest.importorskip("torch._inductor.fx_passes.memory_estimator")
    joint, _ = gpt_step(False)
    graph = joint.graph_module.graph
    tracker = estimator.MemoryTracker(graph, is_releasable=lambda node: node.op not in ("placeholder", "get_attr"), device_filter=bool)
    inputs = tracker.get_current_memory_bytes()
    for node in graph.nodes:
        tracker.schedule_node(node)
    schedule = schedule_of(joint.graph_module)
    assert schedule.peak_bytes == tracker.peak_memory - inputs
    assert schedule.input_bytes == inputs


# Worked out by hand.


def test_views_and_writes_in_place_take_no_memory_and_unread_results_go_at_once():
    def program(x):
        y = x + 1
        y.t()
        y.mul_(2)
        x.sin()
        z = y.view(-1)[3:] * 2
        return z.clone()

    graph_module = traced(program, torch.ones(16, 16))
    names = [node.name for node in graph_module.graph.nodes if node.op == "call_function"]
    sizes = [step.live_bytes for step in schedule_of(graph_module).steps]
    z = (256 - 3) * 4
    assert dict(zip(names, sizes, strict=True)) == {
        "add": KB, "t": KB, "mul_": KB, "sin": 2 * KB, "view": KB, "slice_1": KB, "mul": KB + z, "clone": 2 * z,
    }  # fmt: skip


def test_the_values_alive_at_the_peak_are_named():
    def program(x):
        y = x + 1
        return (y * y).sum() + y.sum()

    schedule = schedule_of(traced(program, torch.ones(16, 16)))
    assert (schedule.peak_bytes, schedule.peak_step, schedule.input_bytes) == (2 * KB + 4, "sum_1", KB)
    assert [(value.node, value.num_bytes) for value in schedule.at_peak] == [("add", KB), ("mul", KB), ("sum_1", 4)]


def test_results_of_one_operator_live_each_on_its_own():
    def program(x):
        values, indices = x.sort()
        return values.sum(), (indices + 1).sum()

    graph_module = traced(program, torch.ones(16, 16))
    found = curve(graph_module)
    assert found["sort"] == 3 * KB
    assert found["sum_1"] == 3 * KB + 4
    assert found["add"] == 4 * KB + 4  # without the values


class Builder:
    """A graph of real operators with fake values."""

    def __init__(self):
        self.graph, self.mode = fx.Graph(), FakeTensorMode()

    def input(self, name, *shape):
        node = self.graph.placeholder(name)
        with self.mode:
            node.meta["val"] = torch.empty(shape)
        return node

    def call(self, target, *args, **kwargs):
        node = self.graph.call_function(target, args, kwargs)
        values = fx.node.map_arg((args, kwargs), lambda argument: argument.meta["val"])
        if target is not FREE:
            with self.mode:
                node.meta["val"] = target(*values[0], **values[1])
        return node

    def finish(self, *outputs) -> fx.GraphModule:
        self.graph.output(outputs)
        return fx.GraphModule({}, self.graph)


def test_a_free_gives_memory_back_also_through_a_view_and_what_a_collective_reads_is_held_until_its_wait():
    b = Builder()
    x = b.input("x", 256)
    y = b.call(aten.add.Tensor, x, x)
    launch = b.call(c10d.all_gather_into_tensor.default, y, 2, "g")
    other = b.call(aten.relu.default, x)
    wait = b.call(c10d.wait_tensor.default, launch)
    view = b.call(aten.view.default, wait, [2, 256])
    used = b.call(aten.mul.Tensor, view, other)
    free = b.call(FREE, view, 0)
    last = b.call(aten.neg.default, other)
    found = curve(b.finish(used, last))
    assert found[launch.name] == 3 * KB
    assert found[wait.name] == 4 * KB  # y, the gathered storage once, other
    assert found[used.name] == 5 * KB  # without y
    assert found[free.name] == 5 * KB
    assert found[last.name] == 4 * KB  # used, other, last


def test_a_collective_that_is_never_waited_for_holds_its_memory_to_the_end_and_is_named():
    b = Builder()
    x = b.input("x", 256)
    y = b.call(aten.add.Tensor, x, x)
    launch = b.call(c10d.all_gather_into_tensor.default, y, 2, "g")
    last = b.call(aten.neg.default, x)
    schedule = schedule_of(b.finish(last))
    assert schedule.steps[-1].live_bytes == 4 * KB
    assert schedule.notes == (f"{launch.name} is never waited for: when it ends, and what it hides behind, is not known",)


def test_a_wait_used_twice_and_one_for_nothing_are_named():
    b = Builder()
    x = b.input("x", 256)
    launch = b.call(c10d.all_reduce.default, x, "sum", "g")
    waits = [b.call(c10d.wait_tensor.default, launch) for _ in range(2)]
    stray = b.call(c10d.wait_tensor.default, b.call(aten.neg.default, x))
    notes = schedule_of(b.finish(*waits, stray)).notes
    assert notes == (
        f"{launch.name} is waited for more than once, by {waits[0].name}, {waits[1].name}: the first wait ends its window",
        f"{stray.name} waits for nothing that this graph launches",
    )


def test_memory_of_the_caller_that_a_run_frees_lowers_what_the_run_holds():
    b = Builder()
    x = b.input("x", 256)
    y = b.call(aten.neg.default, x)
    b.call(FREE, x, 0)
    last = b.call(aten.neg.default, y)
    assert curve(b.finish(last))[last.name] == KB


def test_symbolic_sizes_count_by_their_hints_and_without_one_are_unknown_never_zero():
    symbolic = traced(lambda x: (x + 1).sum(), torch.ones(16, 16), tracing_mode="symbolic")
    assert schedule_of(symbolic).peak_bytes == KB + 4

    def program(x):
        return (x.nonzero() + 1).sum()

    schedule = schedule_of(traced(program, torch.ones(16), tracing_mode="symbolic"))
    assert [step.live_bytes for step in schedule.steps if step.kind == "compute"] == [None, None, None]
    assert (schedule.peak_bytes, schedule.peak_step, schedule.at_peak) == (None, "", ())
    assert schedule.steps[0].num_bytes is None and "peak unknown" in str(schedule)


def test_a_graph_without_values_is_unknown_and_an_empty_one_is_zero():
    graph_module = traced(lambda x: x + 1, torch.ones(2))
    for node in graph_module.graph.nodes:
        node.meta.pop("val", None)
    assert schedule_of(graph_module).peak_bytes is None
    assert schedule_of(fx.symbolic_trace(lambda x: x)).peak_bytes == 0


# Work.


def test_a_region_moves_only_what_crosses_it_and_matmuls_are_work_of_their_own():
    def program(x, w):
        return (torch.relu(x + 1) @ w).sin().cos()

    graph_module = traced(program, torch.ones(16, 16), torch.ones(16, 16))
    alone = schedule_of(graph_module)
    assert [step.num_bytes for step in alone.steps] == [2 * KB, 2 * KB, 3 * KB, 2 * KB, 2 * KB]
    (step,) = schedule_of(graph_module, find_regions(graph_module.graph, mode="regional")).steps
    assert [(dict(kernel.flops), kernel.num_bytes) for kernel in step.work] == [({}, 2 * KB), ({"float32": 8192}, 3 * KB), ({}, 2 * KB)]
    assert (step.bytes_in, step.bytes_out, step.flops, step.nodes) == (2 * KB, KB, 8192, 5)


def test_a_region_of_views_is_told_from_one_that_works():
    graph_module = traced(lambda x: x.t().t().view(-1), torch.ones(4, 4))
    (step,) = schedule_of(graph_module, find_regions(graph_module.graph, mode="regional")).steps
    assert (step.kind, step.work) == ("view", ())


def test_a_pick_reads_what_it_returns_and_an_expanded_view_no_more_than_its_storage():
    def program(table, i, x):
        return table[i] + x.expand(2, 16)

    table, x = torch.ones(1000, 16), torch.ones(16)
    index, add = (step for step in schedule_of(traced(program, table, torch.tensor([1, 2]), x)).steps if step.kind == "compute")
    assert index.num_bytes == 2 * 8 + 2 * 2 * 16 * 4
    assert add.num_bytes == 2 * 2 * 16 * 4 + 16 * 4


def test_windows_hold_what_computes_inside_them_under_each_plan():
    b = Builder()
    x, w = b.input("x", 16, 16), b.input("w", 16, 16)
    launch = b.call(c10d.all_gather_into_tensor.default, x, 2, "g")
    product = b.call(aten.mm.default, w, w)
    wait = b.call(c10d.wait_tensor.default, launch)
    after = b.call(aten.mm.default, wait, product)
    graph_module = b.finish(after)
    assert schedule_of(graph_module).collectives[0].compute_inside == (product.name,)
    runs = schedule_of(graph_module, find_regions(graph_module.graph, mode="regional"))
    assert runs.collectives[0].compute_inside == ("region_0",)
    full = schedule_of(graph_module, find_regions(graph_module.graph, mode="full"))
    assert [step.name for step in full.steps] == [launch.name, "region_0", wait.name, "region_0"]
    assert full.collectives[0].compute_inside == ("region_0",) and "its compiler may move it" in full.notes[-1]


def test_communication_inside_a_compiled_region_is_seen_as_the_plan_shows_it_or_not_at_all():
    b = Builder()
    x, w = b.input("x", 16, 16), b.input("w", 16, 16)
    launch = b.call(c10d.all_gather_into_tensor.default, x, 2, "g")
    product = b.call(aten.mm.default, w, w)
    wait = b.call(c10d.wait_tensor.default, launch)
    inside = b.finish(b.call(aten.mm.default, wait, product))
    outside = Builder()
    inputs = [outside.graph.placeholder(node.name) for node in (x, w)]
    for node, first in zip(inputs, (x, w), strict=True):
        node.meta["val"] = first.meta["val"]
    call = outside.graph.call_module("region_0", tuple(inputs))
    call.meta["val"] = tuple(node.meta["val"] for node in inside.graph.output_node().args[0])
    outside.graph.output(call)
    members = tuple(node.name for node in inside.graph.nodes if node.op == "call_function")
    region = CompiledRegion("region_0", members, inside, {}, artifact=None)
    compiled = fx.GraphModule({"region_0": region}, outside.graph)
    seen = schedule_of(compiled)
    assert [step.name for step in seen.steps] == [launch.name, "region_0", wait.name, "region_0"]
    assert [(one.launch, one.compute_inside) for one in seen.collectives] == [(launch.name, ("region_0",))]
    whole = schedule_of(compiled, cut=False)
    assert [(step.name, step.nodes) for step in whole.steps] == [("region_0", 4)] and whole.collectives == ()
    assert whole.peak_bytes == seen.peak_bytes
