"""Calling a captured step: its inputs by name, its checks, its words about itself."""

import collections
import copy

import pytest
import torch
from eager import bits
from torch import nn
from torch.utils import _pytree as pytree

from hyperviz.capture import trace

Pair = collections.namedtuple("Pair", ["left", "right"])


def step(model, batch, scale=2):
    return (model(batch["x"]) * scale + batch["pair"].left).sum()


@pytest.fixture(scope="module")
def inputs():
    return {"batch": {"x": torch.ones(2, 4), "pair": Pair(torch.ones(3), "unused")}, "scale": 3}


@pytest.fixture(scope="module")
def model():
    return nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3))


@pytest.fixture(scope="module")
def joint(model, inputs):
    return trace(model, step, inputs)


def placeholders(joint):
    return joint.graph_module.graph.find_nodes(op="placeholder")


def test_what_it_says_of_itself(joint):
    assert joint.state_fqns == ("0.weight", "0.bias", "1.weight", "1.bias", "0.running_mean", "0.running_var", "0.num_batches_tracked")
    assert joint.state_is_param == (True,) * 4 + (False,) * 3
    assert joint.num_state_inputs == 7
    assert joint.input_names == ("batch.x", "batch.pair.left")
    assert joint.output_names == ("loss", "grad of 0.weight", "grad of 0.bias", "grad of 1.weight", "grad of 1.bias")
    assert joint.title == "Sequential"
    assert joint.notes == ("captured for batch.pair.right = 'unused', scale = 3",)
    assert repr(joint) == f"JointGraph of Sequential: {len(joint.graph_module.graph.nodes)} nodes, loss and 4 gradients"


def test_placeholders_have_readable_names_and_the_fake_tensors_of_the_graph(joint):
    nodes = placeholders(joint)
    assert [node.name for node in nodes][3:] == [
        "_1_bias",
        "_0_running_mean",
        "_0_running_var",
        "_0_num_batches_tracked",
        "batch_x",
        "batch_pair_left",
    ]
    assert all(fake is node.meta["val"] for fake, node in zip(joint.example_inputs, nodes, strict=True))


def test_one_fake_mode_for_all_values(joint):
    values = [node.meta["val"] for node in joint.graph_module.graph.nodes if node.op != "output"]
    modes = {id(tensor.fake_mode) for tensor in pytree.tree_leaves(values) if isinstance(tensor, torch.Tensor)}
    assert len(modes) == 1
    assert not any(fake.requires_grad for fake in joint.example_inputs)


def test_flat_inputs_are_the_real_tensors(joint, model, inputs):
    flat = joint.flat_inputs(model, inputs)
    assert [id(tensor) for tensor in flat[:4]] == [id(parameter) for parameter in model.parameters()]
    assert flat[-2] is inputs["batch"]["x"] and flat[-1] is inputs["batch"]["pair"].left


def test_run_leaves_parameters_alone_and_updates_buffers(joint, model, inputs):
    model = copy.deepcopy(model)
    flat = joint.flat_inputs(model, inputs)
    before = [bits(tensor) for tensor in flat]
    outputs = joint.run(*flat)
    assert len(outputs) == 5 and not any(output.requires_grad for output in outputs)
    assert [bits(tensor) != old for tensor, old in zip(flat, before, strict=True)] == [False] * 4 + [True] * 3 + [False] * 2
    assert model[0].num_batches_tracked == 1
    assert all(parameter.grad is None for parameter in model.parameters())


def changed(inputs, **changes):
    return {"batch": {**inputs["batch"], **changes}, "scale": inputs["scale"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i: changed(i, x=torch.ones(3, 4)), r"batch.x must be float32\[2, 4\] on cpu, as captured, got float32\[3, 4\] on cpu"),
        (lambda i: changed(i, x=torch.ones(2, 4).double()), "got float64"),
        (lambda i: changed(i, pair=(torch.ones(3), "unused")), "must be nested like those that were captured"),
        (lambda i: changed(i, pair=Pair(torch.ones(3), "other")), r"inputs\['batch.pair.right'\] must be 'unused', .* got 'other'"),
        (lambda i: {**i, "scale": 3.0}, r"inputs\['scale'\] must be 3, as when the step was captured, got 3.0"),
        (lambda i: {"batch": i["batch"]}, "must be nested like those that were captured, batch.x, batch.pair.left"),
        (lambda i: [i], "inputs must be a dict"),
    ],
)
def test_other_inputs_are_refused(joint, model, inputs, change, message):
    with pytest.raises(ValueError, match=message):
        joint.flat_inputs(model, change(inputs))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (nn.Sequential(nn.BatchNorm1d(4), nn.Linear(5, 3)), r"1.weight must be float32\[3, 4\] on cpu, as captured, got float32\[3, 5\]"),
        (nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3, bias=False)), "'1.bias' is missing; it has"),
        (nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3), nn.Linear(1, 1)), "in the captured order, got '2.weight' too"),
        (None, "model must be a torch.nn.Module"),
    ],
)
def test_other_models_are_refused(joint, inputs, other, message):
    with pytest.raises(ValueError, match=message):
        joint.flat_inputs(other, inputs)


def test_run_wants_one_tensor_per_placeholder(joint):
    with pytest.raises(ValueError, match="must be given 9 tensors, as flat_inputs returns them, got 1"):
        joint.run(torch.ones(1))


def test_run_turns_autocast_off(joint, model, inputs):
    flat = joint.flat_inputs(copy.deepcopy(model), inputs)
    plain = joint.run(*flat)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(joint.run(*flat)[0], plain)
        assert torch.is_autocast_enabled("cpu")


def test_a_constant_that_is_not_a_number():
    def scaled(model, x, factor):
        return (model(x) * factor).sum()

    inputs = {"x": torch.ones(2, 4), "factor": float("nan")}
    joint = trace(nn.Linear(4, 3), scaled, inputs)
    assert joint.flat_inputs(nn.Linear(4, 3), inputs)[-1] is inputs["x"]
