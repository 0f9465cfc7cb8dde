"""Sharded over a real group of one rank, a step returns the bits that it returned before, whatever the model."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

import hyperviz as hv
from hyperviz.passes import full_state_dict, load_full_state_dict


@pytest.fixture(scope="module", autouse=True)
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 5, 3)
        self.norm = nn.BatchNorm2d(5)
        self.head = nn.Linear(5, 2)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.convolution(x))).mean((2, 3)))


class Recomputed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, x):
        return checkpoint(lambda x: self.down(torch.tanh(self.up(x))), x, use_reentrant=False)


class Pieces(nn.Module):
    """One weight read through a split, an index, an expansion and itself."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 6))

    def forward(self, x):
        top, bottom = self.weight.split(3)
        return torch.cat([x @ top.t(), x @ bottom.t()], 1) * self.weight[0].expand(4, 6) + (self.weight * self.weight).sum()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x):
        return self.layer(x)


def square(model, x):
    return model(x).square().mean()


def half(model, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return square(model, x).float()


CASES = {
    "convolution": (Convolution, (4, 3, 6, 6), square),
    "convolution, channels last": (lambda: Convolution().to(memory_format=torch.channels_last), (4, 3, 6, 6), square),
    "recomputed": (Recomputed, (4, 6), square),
    "pieces": (Pieces, (4, 6), square),
    "attention": (Attention, (2, 5, 8), square),
    "attention under autocast": (Attention, (2, 5, 8), half),
    "recurrent": (lambda: _First(nn.GRU(3, 4)), (5, 2, 3), square),
}


class _First(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


@pytest.mark.parametrize("reshard", [True, False], ids=["resharded", "kept"])
@pytest.mark.parametrize("name", CASES)
def test_same_bits(name, reshard):
    make, shape, train_fn = CASES[name]
    torch.manual_seed(0)
    model, inputs = make(), {"x": torch.randn(shape)}
    whole = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    joint = hv.trace(model, train_fn, inputs)
    before = joint.run(*(tensor.clone() for tensor in joint.flat_inputs(model, inputs)))
    sharded = hv.apply_passes(joint, hv.PassConfig(fsdp_enabled=True, reshard_after_forward=reshard), model=model)
    after = sharded.run(*(tensor.clone() for tensor in sharded.flat_inputs(model, inputs)))
    assert torch.equal(before[0], after[0])
    for name, one, other in zip(joint.output_names[1:], before[1:], after[1:], strict=True):
        assert torch.equal(one.flatten(), other.flatten()) or torch.equal(one, other.permute(0, 3, 1, 2)), name
    again = full_state_dict(model, sharded)
    assert all(torch.equal(again[key], whole[key]) and again[key].stride() == whole[key].stride() for key in whole)


def test_the_optimizer_keeps_its_parameters_and_a_gradient_is_cut_too():
    model, inputs = Recomputed(), {"x": torch.ones(4, 6)}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    square(model, **inputs).backward()
    parameters = list(model.parameters())
    hv.apply_passes(hv.trace(model, square, inputs), hv.PassConfig(fsdp_enabled=True), model=model)
    assert all(one is other for one, other in zip(parameters, model.parameters(), strict=True))
    assert all(parameter.grad.shape == parameter.shape for parameter in parameters)
    optimizer.step()


def test_a_model_that_is_not_the_captured_one_is_refused_and_left_as_it_was():
    joint = hv.trace(Recomputed(), square, {"x": torch.ones(4, 6)})
    config = hv.PassConfig(fsdp_enabled=True)
    with pytest.raises(ValueError, match="model must have the sharded parameter 'up.weight'"):
        hv.apply_passes(joint, config, model=Pieces())
    wider = Recomputed()
    wider.down = nn.Linear(12, 7)
    before = [parameter.data_ptr() for parameter in wider.parameters()]
    with pytest.raises(ValueError, match=r"parameter 'down.weight' must be whole, of shape \(6, 12\), got \(7, 12\)"):
        hv.apply_passes(joint, config, model=wider)
    assert [parameter.data_ptr() for parameter in wider.parameters()] == before


def test_a_state_dict_that_does_not_fit_is_refused():
    model, inputs = Recomputed(), {"x": torch.ones(4, 6)}
    sharded = hv.apply_passes(hv.trace(model, square, inputs), hv.PassConfig(fsdp_enabled=True), model=model)
    state = full_state_dict(model, sharded)
    with pytest.raises(ValueError, match="'up.weight' is not in the state; it has 'up.weigth'"):
        load_full_state_dict(model, sharded, {**{key: state[key] for key in state if key != "up.weight"}, "up.weigth": state["up.weight"]})
    with pytest.raises(ValueError, match=r"state\['up.bias'\] must have the whole shape \(12,\), got \(5,\)"):
        load_full_state_dict(model, sharded, {**state, "up.bias": torch.ones(5)})
    with pytest.raises(ValueError, match="must be a graph that FSDPPass has been through"):
        full_state_dict(model, hv.trace(Pieces(), square, {"x": torch.ones(4, 6)}))
