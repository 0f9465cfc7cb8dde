"""What cannot be captured ends in one sentence, and leaves model and generators as they were."""

import dataclasses
import random
import re

import numpy as np
import pytest
import torch
from eager import bits
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from hyperviz.capture import trace

X = torch.ones(2, 4)


def mean(model, x):
    return model(x).mean()


class Branching(nn.Module):
    """Decides on a value."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        self.last = y = self.linear(x)
        if y.sum() > 0:  # the line that is named
            y = y * 2
        return y


def line_of(text):
    """The first line of this file that holds ``text``."""
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_a_branch_on_a_value_is_named_and_nothing_is_left_behind():
    model = Branching()
    before = {name: bits(tensor) for name, tensor in model.state_dict().items()}
    attributes = [dict(module.__dict__) for module in model.modules()]
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    with pytest.raises(ValueError, match="must not let Python decide on the values of tensors") as error:
        trace(model, mean, {"x": X})
    where = f"{__file__}:{line_of('# the line that is named')} has `if y.sum() > 0:"
    assert where in str(error.value)
    assert {name: bits(tensor) for name, tensor in model.state_dict().items()} == before
    assert [dict(module.__dict__) for module in model.modules()] == attributes
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2][1])
    assert trace(nn.Linear(4, 3), mean, {"x": X}).input_names == ("x",)


def loop(model, x):
    return sum(model(x).mean() for _ in range(int(x.sum())))


def assertion(model, x):
    assert not torch.isnan(x).any()
    return mean(model, x)


def number(model, x):
    return mean(model, x) * float(x.sum())


def array(model, x):
    return mean(model, x) * float(np.sum(x.numpy()))


@pytest.mark.parametrize("step", [loop, assertion, number, array])
def test_values_that_leave_torch_are_named(step):
    with pytest.raises(ValueError, match=re.escape(f"{__file__}:")):
        trace(nn.Linear(4, 3), step, {"x": X})


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda model, x: model(x), r"a scalar tensor, but <lambda> returned a tensor of shape \(2, 3\)"),
        (lambda model, x: None, "returned NoneType"),
        (lambda model, x: (mean(model, x),), "returned tuple"),
        (lambda model, x: x.sum(), "depends on no trainable parameter"),
        (lambda model, x: mean(model, x).detach(), "or was detached"),
        (lambda model, x: model(x).argmax(), "a tensor of torch.int64"),
        (lambda model, x: mean(model, x) * 1j, "a tensor of torch.complex64"),
    ],
)
def test_what_is_no_loss(step, message):
    with pytest.raises(ValueError, match=message):
        trace(nn.Linear(4, 3), step, {"x": X})


def test_a_result_object_is_pointed_at_its_loss():
    @dataclasses.dataclass
    class Result:
        loss: torch.Tensor

    with pytest.raises(ValueError, match=r"returned Result; return its \.loss"):
        trace(nn.Linear(4, 3), lambda model, x: Result(mean(model, x)), {"x": X})


def test_a_step_that_differentiates_itself():
    def step(model, x):
        loss = mean(model, x)
        loss.backward()
        return loss

    model = nn.Linear(4, 3)
    with pytest.raises(ValueError, match="leave its backward to the capture"):
        trace(model, step, {"x": X})
    assert model.weight.grad is None


@dataclasses.dataclass
class Batch:
    x: torch.Tensor


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([X], "inputs must be a dict of what train_fn takes by name, got list"),
        (X, "got Tensor"),
        ({1: X}, "str keys, the names of train_fn's arguments, got the key 1"),
        ({"x": X.numpy()}, r"inputs\['x'\] must be a tensor.* got ndarray; torch.as_tensor"),
        ({"x": {3, 4}}, "got set; a tuple or a dict would do"),
        ({"x": [X, Batch(X)]}, r"inputs\['x\.1'\] must be a tensor, .* got Batch"),
        ({}, "was given nothing: missing a required argument: 'x'"),
        ({"xs": X}, r"mean\(model, x\) was given xs: .*"),
    ],
)
def test_inputs_that_are_none(inputs, message):
    with pytest.raises(ValueError, match=message):
        trace(nn.Linear(4, 3), mean, inputs)


def test_a_misspelt_input_gets_the_near_miss():
    def step(model, tokens):
        return mean(model, tokens)

    with pytest.raises(ValueError, match="did you mean 'tokens'"):
        trace(nn.Linear(4, 3), step, {"tokns": X})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda x: x, "model must be a torch.nn.Module, got function"),
        (nn.Linear, "got the class Linear; call it to make one"),
        (None, "got NoneType"),
        (nn.LazyLinear(3), "'weight' is lazy: run it once"),
    ],
)
def test_what_is_no_model(model, message):
    with pytest.raises(ValueError, match=message):
        trace(model, mean, {"x": X})


def test_what_is_no_function():
    with pytest.raises(ValueError, match="train_fn must be a function of the model and the inputs by name, got str"):
        trace(nn.Linear(4, 3), "mean", {"x": X})


def test_state_that_changes_its_shape_or_goes():
    class Growing(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x):
            self.mean = self.linear(x).detach()
            return self.linear(x)

    with pytest.raises(ValueError, match=r"buffer 'mean' must keep torch.float32 and shape \(3,\) .* got torch.float32 of shape \(2, 3\)"):
        trace(Growing(), mean, {"x": X})

    def replacing(model, x):
        model.weight = nn.Parameter(model.weight * 2)
        return mean(model, x)

    with pytest.raises(ValueError, match="must not replace parameters, but it assigned a new one to 'weight'"):
        trace(nn.Linear(4, 3), replacing, {"x": X})


def test_a_parameter_is_no_input():
    model = nn.Linear(4, 3)
    with pytest.raises(ValueError, match=r"inputs\['x'\] must not be a parameter of the model, got 'weight'"):
        trace(model, mean, {"x": model.weight})


def test_random_numbers_that_are_drawn_again_from_a_kept_state():
    def step(model, x):
        return checkpoint(lambda x: F.dropout(model(x).tanh(), 0.5), x, use_reentrant=False).mean()

    with pytest.raises(ValueError, match=r"F\.dropout.*torch.utils.checkpoint runs aten.bernoulli_.float again"):
        trace(nn.Linear(4, 3), step, {"x": X})


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
def test_an_operator_that_runs_differently_without_autograd():
    with pytest.raises(
        ValueError, match=r"oneDNN's LSTM runs differently without autograd; after torch.backends.mkldnn.set_flags\(False\)"
    ):
        trace(nn.LSTM(4, 3), lambda model, x: model(x)[0].mean(), {"x": torch.ones(5, 2, 4)})


def test_a_mistake_of_the_program_stays_what_it_is():
    with pytest.raises(ZeroDivisionError):
        trace(nn.Linear(4, 3), lambda model, x: mean(model, x) / (1 // 0), {"x": X})
