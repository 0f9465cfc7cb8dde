"""Offload: what leaves for the host, what stays and why, and a refusal to run where there is no accelerator."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

import hyperviz as hv
from hyperviz.graph.kinds import is_work
from hyperviz.graph.values import tensors_of
from hyperviz.models import GPT, GPTConfig, gpt_step
from hyperviz.passes import OffloadPass, PassPipeline
from hyperviz.passes.offload import transfer

ON = hv.PassConfig(offload_enabled=True, offload_min_bytes=256, offload_ahead=2)
REFUSAL = "offloaded values need an accelerator to run: this graph's tensors are on the host"


class Tower(nn.Module):
    """Six layers of one width, so that every saved activation has the same size."""

    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(6))
        self.register_buffer("seen", torch.zeros(8, width))

    def forward(self, x):
        self.seen.copy_(x)
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def step(model, x):
    return model(x).square().mean()


def _traced(model=None, train_fn=step, world=None):
    return hv.trace(model or Tower(), train_fn, {"x": torch.ones(8, 8)}, world=world)


def _ao(joint, name):
    return [node for node in joint.graph_module.graph.nodes if str(node.target) == f"ao.{name}.default"]


@pytest.fixture(scope="module")
def offloaded():
    return hv.apply_passes(_traced(), ON)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"offload_enabled": "no"}, "offload_enabled must be True or False, got 'no'"),
        ({"offload_min_bytes": -1}, "offload_min_bytes must be ≥ 0, got -1"),
        ({"offload_min_bytes": True}, "offload_min_bytes must be ≥ 0, got True"),
        ({"offload_ahead": 0}, "offload_ahead must be ≥ 1, got 0"),
    ],
)
def test_a_bad_value_is_refused_when_the_config_is_made(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        hv.PassConfig(**bad)


def test_the_pass_is_the_last_before_the_compiler():
    asked = ON.replace(fsdp_enabled=True, bucket_enabled=True, enable_overlap=True, inductor_mode="full")
    assert [one.name for one in PassPipeline.from_config(asked).passes] == ["fsdp", "bucket", "overlap", "offload", "inductor"]


def test_each_value_leaves_behind_its_last_use_and_is_back_before_its_first(offloaded):
    graph = offloaded.graph_module.graph
    place = {node.name: index for index, node in enumerate(graph.nodes)}
    nodes = {node.name: node for node in graph.nodes}
    moved = offloaded.graph_module.meta["offload"].moved
    assert [value.node for value in moved] == ["tanh", "tanh_1", "tanh_2", "tanh_3", "tanh_4"]
    for value in moved:
        assert value.num_bytes == 8 * 8 * 4
        assert place[value.node] < place[value.offload] < place[value.freed] < place[value.reload] < place[value.back]
        base, users = nodes[value.node], {user.name for user in nodes[value.node].users}
        assert {user.name for user in base.users if user.meta["phase"] == "backward"} == set()
        assert max(place[user] for user in users if user not in (value.offload, value.freed)) < place[value.offload]
        assert nodes[value.freed].args == (nodes[value.offload], base)
        assert all(place[user.name] > place[value.back] for user in nodes[value.back].users) and nodes[value.back].users
        memory = StorageWeakRef(base.meta["val"].untyped_storage())
        late = [tensor for node in graph.nodes if node.meta.get("phase") == "backward" for tensor in tensors_of(node.meta.get("val"))]
        assert not any(StorageWeakRef(tensor.untyped_storage()) == memory for tensor in late)
    assert len(_ao(offloaded, "offload")) == len(_ao(offloaded, "reload")) == 5 and len(_ao(offloaded, "wait_tensor")) == 10


def test_transfers_are_given_as_many_operators_as_were_asked_for():
    for ahead in (1, 4):
        joint = hv.apply_passes(_traced(), ON.replace(offload_ahead=ahead))
        nodes = list(joint.graph_module.graph.nodes)
        names = [node.name for node in nodes]
        for value in joint.graph_module.meta["offload"].moved:
            for start, end in ((value.offload, value.freed), (value.reload, value.back)):
                between = nodes[names.index(start) + 1 : names.index(end)]
                assert sum(map(is_work, between)) == ahead


def test_every_value_that_stays_has_its_reason(offloaded):
    offload = offloaded.graph_module.meta["offload"]
    assert set(offload.kept) == {"tanh_5", "x", *(node for node in offload.kept if node.startswith("layers"))}
    assert "only 3 operators run between its last use in the forward and its first in the backward: too few" in offload.kept["tanh_5"]
    assert "outside the step" in offload.kept["layers_1_weight"]
    assert str(offload).splitlines()[0] == offload.sentence and offload.sentence in offloaded.notes
    assert offload.sentence.startswith("offload: 5 saved values, 1,280 bytes, wait for the backward in host memory")
    assert all(line.startswith("  ") for line in str(offload).splitlines()[1:])


def test_views_are_made_again_from_what_came_back_and_share_its_memory():
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(8, 16), nn.Linear(8, 8)

        def forward(self, x):
            left, right = self.first(x).chunk(2, dim=1)
            y = left * right.t().contiguous()
            for _ in range(6):
                y = y.sin()
            return self.last(y)

    joint = hv.apply_passes(_traced(Views()), ON)
    offload = joint.graph_module.meta["offload"]
    value = next(value for value in offload.moved if value.node.startswith("addmm"))
    assert sum(other.node.startswith(("split", "getitem")) for other in offload.moved) == 0
    back = next(node for node in joint.graph_module.graph.nodes if node.name == value.back)
    again = {node for node in joint.graph_module.graph.nodes if back in node.all_input_nodes}
    assert again and all(node.meta["phase"] == "backward" for node in again)
    storage = StorageWeakRef(back.meta["val"].untyped_storage())
    split = next(node for node in again if "split" in str(node.target))
    assert all(StorageWeakRef(tensor.untyped_storage()) == storage for tensor in split.meta["val"])
    assert StorageWeakRef(split.meta["val"][0].untyped_storage()) != StorageWeakRef(
        next(node for node in joint.graph_module.graph.nodes if node.name == value.node).meta["val"].untyped_storage()
    )


def test_a_transformer_is_offloaded_whole_also_when_sharded_and_overlapped():
    torch.manual_seed(0)
    model = GPT(GPTConfig(num_layers=2, width=16, num_heads=2, context=16))
    tokens = torch.zeros(2, 16, dtype=torch.long)
    joint = hv.trace(model, gpt_step, {"tokens": tokens, "targets": tokens}, world=hv.FakeWorld(2))
    for config in (ON, ON.replace(fsdp_enabled=True, fsdp_wrap=("blocks.*", "*"), bucket_enabled=True, enable_overlap=True)):
        after = hv.apply_passes(joint, config)
        moved = {value.node for value in after.graph_module.meta["offload"].moved}
        # What the backward still reads of the forward is none of what left, but what came to the host.
        saved = {producer.name for producer, _ in hv.plan(after).graph.saved_values()}
        assert len(moved) > 10 and not moved & saved
        assert {value.freed for value in after.graph_module.meta["offload"].moved} <= saved


def test_what_is_written_returned_or_communicated_stays():
    def writes(model, x):
        y = torch.relu_(model.layers[0](x))
        for layer in model.layers[1:]:
            y = torch.tanh(layer(y))
        return y.mean()

    kept = hv.apply_passes(_traced(train_fn=writes), ON).graph_module.meta["offload"].kept
    assert any("writes to it" in reason for reason in kept.values())
    sharded = hv.apply_passes(_traced(world=hv.FakeWorld(2)), ON.replace(fsdp_enabled=True, reshard_after_forward=False))
    kept = sharded.graph_module.meta["offload"].kept
    assert any(reason == "it is a gathered parameter, which the sharding frees or keeps" for reason in kept.values())


def test_a_limit_that_nothing_reaches_and_a_second_run_change_nothing(offloaded):
    joint = _traced()
    small = hv.apply_passes(joint, ON.replace(offload_min_bytes=1 << 30))
    assert small.graph_module.code == joint.graph_module.code
    assert "offload: no value of 1,073,741,824 bytes or more is saved for the backward" in small.notes
    small.run(*small.flat_inputs(Tower(), {"x": torch.ones(8, 8)}))
    code = offloaded.graph_module.code
    assert OffloadPass().run(offloaded.graph_module, ON) is offloaded.graph_module and offloaded.graph_module.code == code
    assert OffloadPass().run(joint.graph_module, hv.PassConfig()) is joint.graph_module and "offload" not in joint.graph_module.meta


def test_it_is_planned_and_compiled_and_refuses_to_run_everywhere_before_anything_ran(offloaded):
    model, inputs = Tower(), {"x": torch.full((8, 8), 2.0)}
    flat = offloaded.flat_inputs(model, inputs)
    plan = hv.plan(offloaded, hv.PassConfig(inductor_mode="regional"))
    assert all("offload: it owns a transfer stream" in plan.eager[node.name] for node in _ao(offloaded, "reload"))
    compiled = hv.compile(offloaded)
    plain = _traced()
    runs = {
        "run": lambda: offloaded.run(*flat),
        "compiled": lambda: compiled(*flat),
        "compare": lambda: hv.compare(plain, offloaded, flat),
        "compare, a plain graph": lambda: hv.compare(plain.graph_module, offloaded.graph_module, flat),
        "timeline": lambda: hv.timeline(offloaded, flat=flat),
        "benchmark": lambda: hv.benchmark({"eager": plain, "offloaded": compiled}, flat),
    }
    for name, run in runs.items():
        with pytest.raises(ValueError, match=REFUSAL):
            run()
        assert not model.seen.any(), name


def test_a_torch_without_the_operators_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(transfer, "import_module", missing)
    joint = _traced()
    before = joint.graph_module.code
    with pytest.raises(ValueError, match=re.escape(f"which torch 2.13 has, got torch {torch.__version__}")):
        OffloadPass().run(joint.graph_module, ON)
    assert joint.graph_module.code == before
