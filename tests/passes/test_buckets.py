"""Buckets: which collectives become one, what each node says of it, and the same bits as before."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

import hyperviz as hv
from hyperviz.analysis import Memory
from hyperviz.graph.collectives import find_collectives
from hyperviz.passes import BucketPass, PassPipeline

FREE = "inductor.resize_storage_bytes_.default"
CLONE = "aten.clone.default"


class Net(nn.Module):
    """Two layers of prime sizes, one tied weight, one frozen bias, a scalar, two dtypes, and a layer to leave whole."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 11), nn.Tanh(), nn.Linear(11, 7), nn.Linear(7, 7, bias=False))
        self.body[0].bias.requires_grad_(False)
        self.body.narrow = nn.Parameter(torch.ones(7, dtype=torch.bfloat16))
        self.body.scale = nn.Parameter(torch.tensor(1.5))
        self.head = nn.Linear(7, 7)
        self.head.weight = self.body[3].weight

    def forward(self, x):
        x = self.body[3](self.body[2](self.body[1](self.body[0](x)))) * self.body.narrow.float() * self.body.scale
        return self.head(x)


def step(model, x):
    return model(x).square().mean()


def _sharded(size=4, world=True, model=None, **config):
    torch.manual_seed(0)
    model = model or Net()
    joint = hv.trace(model, step, {"x": torch.ones(3, 7)}, world=hv.FakeWorld(size) if world else None)
    config = {"fsdp_wrap": ("body",), "bucket_enabled": True} | config
    return hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, **config), model=model)


def _launches(joint):
    return {node.name: node for node in joint.graph_module.graph.nodes if node.meta.get("bucket")}


def _buckets(joint):
    return joint.graph_module.meta["buckets"].buckets


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"bucket_enabled": 1}, "bucket_enabled must be True or False, got 1"),
        ({"bucket_bytes": 0}, "bucket_bytes must be ≥ 1, or None for no limit, got 0"),
        ({"bucket_bytes": True}, "bucket_bytes must be ≥ 1, or None for no limit, got True"),
    ],
)
def test_a_bad_value_is_refused_when_the_config_is_made(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        hv.PassConfig(**bad)


def test_the_pass_stands_behind_sharding_and_only_where_it_is_asked_for():
    asked = hv.PassConfig(fsdp_enabled=True, bucket_enabled=True, inductor_mode="regional")
    assert [one.name for one in PassPipeline.from_config(asked).passes] == ["fsdp", "bucket", "inductor"]
    assert [one.name for one in PassPipeline.from_config(hv.PassConfig(fsdp_enabled=True)).passes] == ["fsdp"]


def test_one_bucket_for_each_module_kind_phase_dtype_and_group():
    sharded = _sharded()
    found = {bucket.name: set(bucket.parameters) for bucket in _buckets(sharded)}
    trained = {"body.0.weight", "body.2.weight", "body.2.bias", "body.3.weight", "body.scale"}
    assert found == {
        "body gather 1 of 2 (forward)": {"body.narrow"},
        "body gather 2 of 2 (forward)": {*trained, "body.0.bias"},
        "body gather 1 of 2 (backward)": {"body.narrow"},
        "body gather 2 of 2 (backward)": {"body.2.weight", "body.scale"},
        "body reduce-scatter 1 of 2 (backward)": {"body.narrow"},
        "body reduce-scatter 2 of 2 (backward)": trained,
        "replicated all-reduce (backward)": {"head.bias"},
    }
    collectives = find_collectives(sharded.graph_module.graph)
    assert [one.bucket for one in collectives] == [bucket.name for bucket in _buckets(sharded)]
    assert [one.payload_bytes for one in collectives] == [bucket.num_bytes for bucket in _buckets(sharded)]
    assert all(len(one.waits) == 1 for one in collectives)
    assert "17 collectives merged into 7 buckets" in sharded.notes
    assert str(sharded.graph_module.meta["buckets"]).splitlines()[0] == "17 collectives merged into 7 buckets"


def test_a_limit_cuts_buckets_and_a_larger_parameter_stays_alone():
    sharded = _sharded(size=2, fsdp_wrap=("",), bucket_bytes=250)
    by_name = {bucket.name: bucket for bucket in _buckets(sharded)}
    assert len(by_name) == len(_buckets(sharded))
    large = [bucket for bucket in by_name.values() if bucket.num_bytes > 250]
    assert large and all(len(bucket.parameters) == 1 for bucket in large)
    assert any(len(bucket.parameters) > 1 for bucket in by_name.values())
    # Packed in the order of use, so that a bucket is complete as early as can be.
    gathers = [fqn for bucket in _buckets(sharded) if "gather" in bucket.name and "forward" in bucket.name for fqn in bucket.parameters]
    assert gathers.index("body.0.weight") < gathers.index("body.2.weight") < gathers.index("body.3.weight")
    scatters = [fqn for bucket in _buckets(sharded) if "scatter" in bucket.name for fqn in bucket.parameters]
    assert scatters.index("head.bias") < scatters.index("body.2.weight") < scatters.index("body.0.weight")


def test_a_bucket_of_one_is_left_as_it_is():
    plain, one = _sharded(bucket_enabled=False), _sharded(bucket_bytes=1)
    edges = [{(node.name, tuple(map(str, node.all_input_nodes))) for node in joint.graph_module.graph.nodes} for joint in (plain, one)]
    assert edges[0] == edges[1]
    assert len({bucket.name for bucket in _buckets(one)}) == 17


def test_everything_of_a_bucket_carries_its_name_and_what_other_nodes_do():
    sharded = _sharded()
    graph = sharded.graph_module.graph
    for node in graph.nodes:
        if "fsdp_unit" in node.meta:
            assert node.meta["bucket"] and node.meta["phase"] in ("forward", "backward") and node.meta["module_path"] is not None
            assert node.meta.get("twin") in (*(other.name for other in graph.nodes), "", None)
            assert str(node.target) == FREE or node.meta["val"].fake_mode is sharded.example_inputs[0].fake_mode
    for bucket in _buckets(sharded):
        mine = [str(node.target) for node in graph.nodes if node.meta.get("bucket") == bucket.name]
        assert sum("wait_tensor" in target for target in mine) == 1
        assert mine.count(CLONE) == (len(bucket.parameters) if "gather" in bucket.name and len(bucket.parameters) > 1 else 0)


def test_the_gathered_memory_is_freed_behind_its_last_reader():
    sharded = _sharded()
    graph = sharded.graph_module.graph
    order, memory = {node: index for index, node in enumerate(graph.nodes)}, Memory(graph)
    frees = [node for node in order if str(node.target) == FREE]
    assert len({memory.of(free.args[0]) for free in frees}) == len(frees)
    for free in frees:
        assert all(order[node] <= order[free] for node in memory.touching(free.args[0]))
    # In the forward five copies of six, since the backward reads one at once, a buffer, and a parameter alone; in the backward a
    # buffer, whose copies die by themselves.
    assert len(frees) == 5 + 1 + 1 + 1


def test_shards_are_summed_over_replicas_as_they_lie():
    sharded = _sharded(size=8, fsdp_degree=2, fsdp_wrap=("",), model=None)
    second = [node for node in sharded.graph_module.graph.nodes if "all_reduce" in str(node.target)]
    assert [str(node.args[0].target) for node in second] == ["_c10d_functional.wait_tensor.default"] * 2
    assert {bucket.name for bucket in _buckets(sharded) if "all-reduce" in bucket.name} == {
        "model all-reduce 1 of 2 (backward)",
        "model all-reduce 2 of 2 (backward)",
    }
    outputs = [node for node in sharded.graph_module.graph.output_node().args[0] if node is not None]
    assert all("all-reduce" in node.meta["bucket"] for node in outputs[1:])


def test_without_the_wish_without_collectives_and_after_the_deed():
    joint = hv.trace(Net(), step, {"x": torch.ones(3, 7)}, world=hv.FakeWorld(2))
    graph_module = joint.graph_module
    before = graph_module.code
    assert BucketPass().run(graph_module, hv.PassConfig()) is graph_module and "buckets" not in graph_module.meta
    assert (
        "no buckets: the graph has no collectives that FSDPPass put there"
        in hv.apply_passes(joint, hv.PassConfig(bucket_enabled=True)).notes
    )
    assert graph_module.code == before
    sharded = _sharded()
    code = sharded.graph_module.code
    assert BucketPass().run(sharded.graph_module, hv.PassConfig(bucket_enabled=True)).code == code


def test_a_graph_whose_collectives_were_moved_is_refused():
    sharded = _sharded(bucket_enabled=False)
    sharded.graph_module.meta["overlap"] = object()
    before = sharded.graph_module.code
    with pytest.raises(ValueError, match="bucket_enabled must be set before the graph goes through OverlapPass"):
        BucketPass().run(sharded.graph_module, hv.PassConfig(bucket_enabled=True))
    assert sharded.graph_module.code == before


@pytest.fixture(scope="module")
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("config", [{}, {"bucket_bytes": 300}, {"reshard_after_forward": False}, {"fsdp_wrap": ("", "body.2")}], ids=str)
def test_same_bits_on_one_rank(group, config):
    torch.manual_seed(0)
    model, inputs = Net(), {"x": torch.randn(3, 7)}
    joint = hv.trace(model, step, inputs)
    before = joint.run(*joint.flat_inputs(model, inputs))
    sharded = hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, bucket_enabled=True, **config), model=model)
    after = sharded.run(*sharded.flat_inputs(model, inputs))
    for one, other in zip(before, after, strict=True):
        assert (one is None and other is None) or torch.equal(one.flatten(), other.flatten())
