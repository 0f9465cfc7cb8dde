"""Sharding as a pass: what it inserts, where, and what it leaves alone, looked at on worlds that do not run."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hyperviz as hv
from hyperviz.analysis import find_regions
from hyperviz.graph import fake_mode_of
from hyperviz.graph.values import tensors_of
from hyperviz.passes import FSDPPass, PassPipeline
from hyperviz.passes.fsdp import ShardLayout, shard_plan_of

GATHER = "_c10d_functional.all_gather_into_tensor_out.default"
SCATTER = "_c10d_functional.reduce_scatter_tensor.default"
REDUCE = "_c10d_functional.all_reduce.default"
WAIT = "_c10d_functional.wait_tensor.default"
FREE = "inductor.resize_storage_bytes_.default"


class Net(nn.Module):
    """Three layers of prime sizes, one tied weight, one frozen, one scalar, one unused, one buffer."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(7, 7, bias=False)
        self.second = nn.Linear(7, 5)
        self.last = nn.Linear(7, 7, bias=False)
        self.last.weight = self.first.weight
        self.second.bias.requires_grad_(False)
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.unused = nn.Parameter(torch.ones(3))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        x = torch.relu(self.first(x)) * self.scale
        return self.second(x), self.last(x)


def step(model, x):
    short, long = model(x)
    return short.square().mean() + long.square().mean()


def _traced(size=4, model=None, rank=0):
    return hv.trace(model or Net(), step, {"x": torch.ones(3, 7)}, world=hv.FakeWorld(size, rank))


def _sharded(size=4, model=None, rank=0, **config):
    config.setdefault("fsdp_wrap", ("",))
    return hv.apply_passes(_traced(size, model, rank), hv.PassConfig(fsdp_enabled=True, **config))


def _calls(joint, target, phase=None):
    found = [node for node in joint.graph_module.graph.nodes if str(node.target) == target]
    return [node for node in found if phase is None or node.meta["phase"] == phase]


def _of(joint, target, fqn, phase=None):
    return [node for node in _calls(joint, target, phase) if node.meta["fsdp_param"] == fqn]


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"fsdp_degree": 0}, "fsdp_degree must be ≥ 1, or None for all ranks, got 0"),
        ({"fsdp_degree": True}, "fsdp_degree must be ≥ 1"),
        ({"fsdp_wrap": 3}, "fsdp_wrap must hold module names or globs of them, got 3"),
        ({"fsdp_enabled": "yes"}, "fsdp_enabled must be True or False, got 'yes'"),
        ({"reshard_after_forward": 1}, "reshard_after_forward must be True or False, got 1"),
        ({"fsdp_group": 0}, "fsdp_group must be the name of a process group, got 0"),
    ],
)
def test_a_bad_value_is_refused_when_the_config_is_made(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        hv.PassConfig(**bad)


def test_the_pass_is_first_and_only_where_it_is_asked_for():
    assert PassPipeline.from_config(hv.PassConfig(inductor_mode="regional")).passes[0].name == "inductor"
    names = [one.name for one in PassPipeline.from_config(hv.PassConfig(fsdp_enabled=True, inductor_mode="regional")).passes]
    assert names[0] == "fsdp" and names[-1] == "inductor"


def test_without_the_wish_and_after_the_deed_the_same_graph_comes_back():
    joint = _traced()
    before = joint.graph_module.code
    assert FSDPPass().run(joint.graph_module, hv.PassConfig()) is joint.graph_module
    assert hv.apply_passes(joint, hv.PassConfig()) is joint
    config = hv.PassConfig(fsdp_enabled=True)
    sharded = hv.apply_passes(joint, config)
    assert joint.graph_module.code == before
    code = sharded.graph_module.code
    assert hv.apply_passes(sharded, config) is sharded
    assert FSDPPass().run(sharded.graph_module, config) is sharded.graph_module
    assert sharded.graph_module.code == code


def test_each_used_parameter_is_gathered_once_per_phase_and_each_gradient_scattered_once():
    sharded = _sharded()
    used = {"first.weight", "second.weight", "second.bias", "scale"}
    assert {node.meta["fsdp_param"] for node in _calls(sharded, GATHER, "forward")} == used
    for fqn in used:
        assert len(_of(sharded, GATHER, fqn, "forward")) == 1
    # The tied weight has two places in the model and one gather, which the backward reads at once; the bias is not read there.
    assert {node.meta["fsdp_param"] for node in _calls(sharded, GATHER, "backward")} == used - {"second.bias", "first.weight"}
    assert sorted(node.meta["fsdp_param"] for node in _calls(sharded, SCATTER)) == ["first.weight", "scale", "second.weight"]
    assert {node.meta["fsdp_param"] for node in _calls(sharded, FREE)} == used - {"first.weight"}
    assert not _calls(sharded, REDUCE)
    for launch in _calls(sharded, GATHER) + _calls(sharded, SCATTER):
        assert [str(user.target) for user in launch.users] == [WAIT]


def test_what_the_backward_reads_first_is_not_freed_only_to_be_gathered_again():
    sharded = _sharded()
    assert shard_plan_of(sharded).kept == ("first.weight",)
    (gather,) = _of(sharded, GATHER, "first.weight")
    readers = _readers(gather)
    assert {node.meta["phase"] for node in readers} == {"forward", "backward"} and not any(str(node.target) == FREE for node in readers)
    assert shard_plan_of(_sharded(reshard_after_forward=False)).kept == ()


def _readers(node):
    """What reads a gathered parameter, through its wait and all views."""
    found = set()
    for user in node.users:
        schema = getattr(user.target, "_schema", None)
        is_view = "wait_tensor" in str(user.target) or (schema is not None and any(argument.alias_info for argument in schema.arguments))
        found |= _readers(user) if is_view else {user}
    return found


def test_a_frozen_and_an_unused_parameter_keep_their_none():
    sharded = _sharded()
    outputs = dict(zip(sharded.output_names, sharded.graph_module.graph.output_node().args[0], strict=True))
    assert outputs["grad of second.bias"] is None and outputs["grad of unused"] is None
    assert str(outputs["grad of scale"].target) == WAIT
    assert not _of(sharded, GATHER, "unused")


def test_shards_and_their_gradients_have_one_shape_on_every_rank():
    first, last = _sharded(rank=0), _sharded(rank=3)
    assert first.graph_module.code == last.graph_module.code
    shapes = dict(zip(first.state_fqns, [tuple(value.shape) for value in first.example_inputs], strict=False))
    assert shapes == {"scale": (1,), "unused": (1,), "first.weight": (2, 7), "second.weight": (2, 7), "second.bias": (2,), "calls": ()}
    outputs = dict(zip(first.output_names, first.graph_module.graph.output_node().args[0], strict=True))
    for fqn in ("scale", "first.weight", "second.weight"):
        assert tuple(outputs[f"grad of {fqn}"].meta["val"].shape) == shapes[fqn]


def test_waits_come_before_the_first_use_and_frees_behind_the_last():
    sharded = _sharded()
    order = {node: place for place, node in enumerate(sharded.graph_module.graph.nodes)}
    for free in _calls(sharded, FREE):
        wait = free.args[0]
        views = [wait, *(user for user in wait.users if str(user.target).startswith("aten.slice"))]
        readers = [user for view in views for user in view.users if user is not free]
        assert readers and all(order[wait] < order[reader] < order[free] for reader in readers)
        assert all(reader.meta["phase"] == "forward" for reader in readers)
        assert free.meta["phase"] == "forward"


def test_the_backward_reads_nothing_that_the_forward_freed():
    """Transposed and otherwise viewed weights are saved by autograd: without care they would read freed memory."""
    sharded = _sharded(model=Net())
    freed = {free.args[0] for free in _calls(sharded, FREE)}
    views = set(freed)
    for node in sharded.graph_module.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and any(argument.alias_info for argument in schema.arguments) and views & set(node.all_input_nodes):
            views.add(node)
    readers = {user for view in views for user in view.users if str(user.target) != FREE}
    assert len(views) > len(freed) and all(reader.meta["phase"] == "forward" for reader in readers)


def test_a_cast_is_made_again_rather_than_kept_whole():
    def under_autocast(model, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return step(model, x).float()

    joint = hv.trace(Net(), under_autocast, {"x": torch.ones(3, 7)}, world=hv.FakeWorld(2))
    sharded = hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True))
    made_from_weights = (torch.ops.aten._to_copy.default, torch.ops.aten.t.default, torch.ops.aten.slice.Tensor)
    family = {free.args[0] for free in _calls(sharded, FREE)}
    for node in sharded.graph_module.graph.nodes:
        if node.target in made_from_weights and family & set(node.all_input_nodes):
            family.add(node)
    assert any(node.target is torch.ops.aten._to_copy.default for node in family)
    assert all(user.meta["phase"] == "forward" for node in family for user in node.users)


def test_without_resharding_one_gather_serves_both_phases():
    sharded = _sharded(reshard_after_forward=False)
    assert len(_calls(sharded, GATHER)) == 4 and not _calls(sharded, FREE)
    assert all(node.meta["phase"] == "forward" for node in _calls(sharded, GATHER))


def test_parameters_outside_the_plan_are_replicated_and_their_gradients_reduced():
    sharded = _sharded(fsdp_wrap=("second",))
    assert {node.meta["fsdp_param"] for node in _calls(sharded, GATHER)} == {"second.weight", "second.bias"}
    assert sorted(node.meta["fsdp_param"] for node in _calls(sharded, REDUCE)) == ["first.weight", "scale"]
    assert [node.meta["fsdp_param"] for node in _calls(sharded, SCATTER)] == ["second.weight"]
    shapes = dict(zip(sharded.state_fqns, [tuple(value.shape) for value in sharded.example_inputs], strict=False))
    assert shapes["first.weight"] == (7, 7) and shapes["second.weight"] == (2, 7)


def test_gradients_are_divided_by_the_number_of_ranks_before_they_are_summed():
    sharded = _sharded(size=6, fsdp_wrap=("second",))
    for launch in _calls(sharded, SCATTER) + _calls(sharded, REDUCE):
        assert launch.args[1] == "sum"
        node = launch.args[0]
        while str(node.target) != "aten.div.Tensor":
            node = node.args[0]
        assert node.args[1] == 6


def test_a_smaller_degree_leaves_replicas_whose_shards_are_averaged_too():
    sharded = _sharded(size=8, fsdp_degree=2, rank=5)
    plan = shard_plan_of(sharded)
    assert (plan.group.degree, plan.group.rank, plan.group.num_replicas) == (2, 1, 4)
    assert len(_calls(sharded, SCATTER)) == len(_calls(sharded, REDUCE)) == 3
    assert {node.args[2] for node in _calls(sharded, SCATTER)} == {2}
    assert len({node.args[-1] for node in _calls(sharded, SCATTER) + _calls(sharded, REDUCE)}) == 2
    with pytest.raises(ValueError, match="fsdp_degree must divide the number of ranks, 8, got 3"):
        _sharded(size=8, fsdp_degree=3)


def test_modules_are_gathered_one_by_one_and_their_parameters_together():
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    joint = hv.trace(Deep(), lambda model, x: model(x).sum(), {"x": torch.ones(2, 4)}, world=hv.FakeWorld(2))
    sharded = hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("blocks.*",)))
    letters = {GATHER: "G", WAIT: "w", FREE: "f", SCATTER: "S"}
    order = "".join(letters.get(str(node.target), "") for node in sharded.graph_module.graph.nodes)
    # The first block's input has no gradient, so its weight is not read again; biases never are.
    # The last weight is read by the backward before any other is needed, so it stays; its bias goes.
    assert order == "GGww" + "ff" + "GGww" + "ff" + "GGww" + "f" + "SSww" + "Gw" + "SSww" + "SSww"
    with pytest.raises(ValueError, match=r"fsdp_wrap must hold names of modules .* got 'block.0'; did you mean 'blocks.0'\?"):
        hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, fsdp_wrap=("block.0",)))


def test_what_is_inserted_can_be_placed_in_a_picture():
    sharded = _sharded()
    graph = sharded.graph_module.graph
    names = {node.name for node in graph.nodes}
    mode = fake_mode_of(sharded.graph_module)
    for node in graph.nodes:
        if "fsdp_param" in node.meta:
            assert node.meta["phase"] in ("forward", "backward") and node.meta["module_path"] == node.meta["fsdp_param"].rpartition(".")[0]
            assert node.meta.get("twin") in (*names, "", None)
            assert str(node.target) == FREE or all(value.fake_mode is mode for value in tensors_of(node.meta["val"]))
    gather, again = (_of(sharded, GATHER, "second.weight", phase)[0] for phase in ("forward", "backward"))
    assert again.meta["twin"] == gather.name and _of(sharded, SCATTER, "second.weight")[0].meta["twin"] == gather.name
    snapshot = hv.plan(sharded).graph
    assert snapshot.fake_world == 4
    assert snapshot.notes == (
        "5 parameters sharded over 4 ranks, gathered in the forward and again in the backward, "
        "but for first.weight, read by the backward before any other",
    )


def test_regions_lie_between_the_communication_and_buffers_form_none():
    sharded = _sharded()
    found = find_regions(sharded.graph_module.graph, mode="regional")
    assert not any(str(node.target) == "aten.empty.memory_format" for group in found.groups for node in group)
    eager = [str(node.target) for node in sharded.graph_module.graph.nodes if node in found.reasons]
    assert eager.count(GATHER) == 6 and eager.count(FREE) == 3
    assert len(find_regions(sharded.graph_module.graph, mode="full").groups) == 1


def test_memory_that_does_not_start_with_dimension_0_is_cut_along_its_outermost():
    layout = ShardLayout.of(torch.empty(5, 3).t(), 2)
    assert layout.shard_shape == (3, 3) and layout.padding == 1
    whole = torch.arange(15.0).view(5, 3).t()
    gathered = torch.cat([layout.shard(whole, rank) for rank in range(2)])
    assert torch.equal(layout.whole(gathered), whole) and layout.whole(gathered).stride() == whole.stride()
    with pytest.raises(ValueError, match="must fill its memory without gaps"):
        ShardLayout.of(torch.empty(4, 4)[:, :2], 2)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (13, 1, 5), (4, 0)])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_shards_put_together_are_the_whole(shape, degree):
    whole = torch.randn(shape)
    layout = ShardLayout.of(whole, degree)
    shards = [layout.shard(whole, rank) for rank in range(degree)]
    assert {shard.shape for shard in shards} == {torch.Size(layout.shard_shape)}
    assert torch.equal(layout.whole(torch.cat(shards)), whole)


def test_a_step_that_writes_to_a_parameter_is_refused_and_left_as_it_was():
    def writes(model, x):
        with torch.no_grad():
            model.first.weight.mul_(0.5)
        return step(model, x)

    joint = hv.trace(Net(), writes, {"x": torch.ones(3, 7)}, world=hv.FakeWorld(2))
    before = joint.graph_module.code
    with pytest.raises(ValueError, match=r"must not be written during the step, but mul_\w* writes to 'first.weight'"):
        hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True))
    assert joint.graph_module.code == before


def test_without_ranks_the_error_says_where_to_find_some():
    joint = hv.trace(Net(), step, {"x": torch.ones(3, 7)})
    with pytest.raises(ValueError, match=r"needs ranks to shard over: call it inside hv.launch .*hv.FakeWorld"):
        hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True))
    with pytest.raises(ValueError, match="must be told state_fqns"):
        FSDPPass().run(joint.graph_module, hv.PassConfig(fsdp_enabled=True))


def test_on_a_fake_world_no_model_is_touched():
    model = Net()
    shapes = [tuple(parameter.shape) for parameter in model.parameters()]
    hv.apply_passes(_traced(model=model), hv.PassConfig(fsdp_enabled=True), model=model)
    assert [tuple(parameter.shape) for parameter in model.parameters()] == shapes
