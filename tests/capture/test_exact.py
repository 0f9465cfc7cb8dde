"""A captured step is, bit for bit, the program and autograd."""

import pytest
import torch
from eager import assert_exact, targets
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from hyperviz.capture import trace
from hyperviz.models import GPT, GPTConfig, gpt_step, load_text, sample_batch


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def square(model, x):
    return model(x).float().pow(2).mean()


class Net(nn.Module):
    """A module with a forward of one's choice."""

    def __init__(self, forward, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part) if not isinstance(part, torch.Tensor) else self.register_buffer(name, part)
        self.run = forward

    def forward(self, *args):
        return self.run(self, *args)


@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("tied", [True, False])
def test_gpt(attention, dropout, tied):
    batch = sample_batch(load_text(), 2, 12)
    model = GPT(GPTConfig(num_layers=1, num_heads=2, width=16, context=16, attention=attention, dropout=dropout, tied=tied))
    joint = assert_exact(model, gpt_step, batch)
    assert ("head.weight" in joint.state_fqns) is not tied


def test_gpt_in_eval_mode_draws_nothing():
    batch = sample_batch(load_text(), 2, 12)
    model = GPT(GPTConfig(num_layers=1, num_heads=2, width=16, context=16, dropout=0.5)).eval()
    joint = assert_exact(model, gpt_step, batch)
    assert not any("bernoulli" in target for target in targets(joint))
    assert not model.training


def residual(self, x):
    return self.head((x[:, :1] + self.body(x)).mean((2, 3)))


def convolutions(training):
    body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout2d(0.3))
    return Net(residual, body=body, head=nn.Linear(4, 2)).train(training)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_updates_the_buffers_that_are_passed(training):
    joint = assert_exact(convolutions(training), square, {"x": torch.randn(2, 3, 5, 5)}, num_steps=3)
    assert ("aten.add_.Tensor" in targets(joint)) is training  # num_batches_tracked
    assert joint.state_fqns[-3:] == ("body.1.running_mean", "body.1.running_var", "body.1.num_batches_tracked")
    assert joint.state_is_param[-4:] == (True, False, False, False)


def test_an_assigned_buffer_is_written_at_the_end():
    def forward(self, x):
        y = self.linear(x) * (1 + self.mean)
        self.mean = 0.9 * self.mean + 0.1 * y.detach().mean(0)
        return y

    joint = assert_exact(Net(forward, linear=nn.Linear(4, 3), mean=torch.zeros(3)), square, {"x": torch.randn(5, 4)}, num_steps=3)
    assert targets(joint)[-1] == "aten.copy_.default"


def test_non_persistent_buffers_are_state():
    model = nn.Linear(4, 3)
    model.register_buffer("scale", torch.rand(3), persistent=False)
    joint = assert_exact(model, lambda model, x: (model(x) * model.scale).sum(), {"x": torch.randn(5, 4)})
    assert joint.state_fqns == ("weight", "bias", "scale")


def test_frozen_and_unused_parameters_have_no_gradient():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    joint = assert_exact(model, lambda model, x: model[1](model[0](x)).sum(), {"x": torch.randn(3, 4)})
    outputs = joint.graph_module.graph.output_node().args[0]
    none = [name for name, output in zip(joint.output_names, outputs, strict=True) if output is None]
    assert none == ["grad of 0.weight", "grad of 0.bias", "grad of 2.weight", "grad of 2.bias"]


def tied_pair():
    first, second = nn.Linear(6, 6), nn.Linear(6, 6, bias=False)
    second.weight = first.weight
    return nn.Sequential(first, nn.Tanh(), second)


def test_tied_weights_are_one_input_and_one_gradient():
    joint = assert_exact(tied_pair(), square, {"x": torch.randn(3, 6)})
    assert joint.state_fqns == ("0.weight", "0.bias")


@pytest.mark.parametrize("cached", [True, False])
def test_autocast_inside_the_step(cached):
    def step(model, x):
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=cached):
            return square(model, x)

    joint = assert_exact(tied_pair(), step, {"x": torch.randn(3, 6)})
    casts = [node for node in joint.graph_module.graph.nodes if node.target is torch.ops.aten._to_copy.default]
    weight_casts = [node for node in casts if node.args[0].name == "_0_weight"]
    assert len(weight_casts) == (1 if cached else 2)  # a weight that is used twice is cast once, as in the program


def test_autocast_around_everything():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        joint = assert_exact(tied_pair(), square, {"x": torch.randn(3, 6)})
        assert torch.is_autocast_cache_enabled()
    assert any("_to_copy" in target for target in targets(joint))


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("mask", ["none", "causal", "bool", "float"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scaled_dot_product_attention(dropout, mask, dtype):
    def forward(self, x):
        q, k, v = self.qkv(x).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        lower = torch.ones(5, 5).tril()
        given = {"bool": lower > 0, "float": lower.log().to(x.dtype)}.get(mask)
        return F.scaled_dot_product_attention(q, k, v, given, dropout, is_causal=mask == "causal")

    assert_exact(Net(forward, qkv=nn.Linear(8, 24)).to(dtype), square, {"x": torch.randn(2, 5, 8, dtype=dtype)})


def test_multi_head_attention_and_encoder_layer():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    assert_exact(layer, square, {"x": torch.randn(2, 5, 8)})


@pytest.mark.parametrize("kind", [nn.GRU, nn.RNN])
def test_recurrent_layers(kind):
    joint = assert_exact(Net(lambda self, x: self.layer(x)[0], layer=kind(4, 3)), square, {"x": torch.randn(5, 2, 4)})
    assert joint.state_fqns[0] == "layer.weight_ih_l0"


def test_lstm_without_onednn():
    before = torch.backends.mkldnn.set_flags(False)[0]
    try:
        assert_exact(Net(lambda self, x: self.layer(x)[0], layer=nn.LSTM(4, 3)), square, {"x": torch.randn(5, 2, 4)})
    finally:
        torch.backends.mkldnn.set_flags(before)


@pytest.mark.parametrize(
    "model",
    [
        nn.Embedding(10, 4, max_norm=1.0),
        nn.Embedding(10, 4, padding_idx=0, scale_grad_by_freq=True),
        nn.EmbeddingBag(10, 4, mode="mean"),
    ],
    ids=["renormalised", "padded", "bag"],
)
def test_embeddings(model):
    ids = torch.randint(0, 10, (3, 5))
    assert_exact(model, square, {"x": ids})


def test_parametrized_weights():
    norm = torch.nn.utils.parametrizations
    model = nn.Sequential(norm.weight_norm(nn.Linear(4, 4)), norm.spectral_norm(nn.Linear(4, 3)))
    assert_exact(model, square, {"x": torch.randn(5, 4)})


def test_in_place_operators_on_values_and_views():
    def forward(self, x):
        h = self.linear(x) * 1
        h[:, 0] = 0
        h[:, 1:3] += 1
        h = h.relu_().clone()
        return h.t().mul_(2).t()

    joint = assert_exact(Net(forward, linear=nn.Linear(4, 4)), square, {"x": torch.randn(3, 4)})
    assert {"aten.relu_.default", "aten.mul_.Tensor"} <= set(targets(joint))


def test_custom_autograd_function_and_vmap():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * 3 * x * x

    def forward(self, x):
        return Cube.apply(torch.func.vmap(lambda row: self.linear(row).sin())(x))

    assert_exact(Net(forward, linear=nn.Linear(4, 3)), square, {"x": torch.randn(5, 4)})


def test_gradient_penalty_differentiates_twice():
    def step(model, x):
        x = x.detach().requires_grad_()
        y = model(x).sum()
        (gradient,) = torch.autograd.grad(y, x, create_graph=True)
        return y * 0.1 + (gradient.norm() - 1) ** 2

    assert_exact(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)), step, {"x": torch.randn(3, 4)})


def test_activation_checkpointing_recomputes_in_the_backward():
    def forward(self, x):
        return self.last(checkpoint(lambda x: torch.tanh(self.first(x)), x, use_reentrant=False))

    model = Net(forward, first=nn.Linear(4, 4), last=nn.Linear(4, 2))
    joint = assert_exact(model, square, {"x": torch.randn(3, 4)})
    tanhs = [node for node in joint.graph_module.graph.nodes if node.target is torch.ops.aten.tanh.default]
    assert [node.meta["phase"] for node in tanhs] == ["forward", "backward"]


def test_hooks_of_parameters_run():
    model = nn.Linear(4, 3)
    model.weight.register_hook(lambda gradient: gradient * 2)
    x = torch.randn(5, 4)
    joint = trace(model, square, {"x": x})
    _, weight, _ = joint.run(*joint.flat_inputs(model, {"x": x}))
    (wanted,) = torch.autograd.grad(square(model, x), [model.weight])
    assert torch.equal(weight, wanted)


def test_tensors_that_are_no_state_are_constants_of_the_graph():
    model = nn.Linear(4, 3)
    model.plain = torch.rand(3)
    teacher = nn.Linear(4, 3)

    def step(model, x):
        return ((model(x) * model.plain - teacher(x)) ** 2).mean() + torch.tensor([2.0, 3.0]).sum()

    joint = assert_exact(model, step, {"x": torch.randn(5, 4)})
    assert len(joint.graph_module.graph.find_nodes(op="get_attr")) >= 3


def test_values_that_only_tensors_depend_on_are_fine():
    def step(model, x):
        kept = model(x)[x.sum(1) > -1]
        return kept.pow(2).sum() * x.max().item()

    assert_exact(nn.Linear(4, 3), step, {"x": torch.randn(6, 4)})


def test_parts_under_torch_compile_are_traced_as_the_plain_program():
    plain = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    compiled = nn.Sequential(plain[0], torch.compile(plain[1]))
    x = {"x": torch.randn(5, 4)}
    assert targets(trace(compiled, square, x)) == targets(trace(plain, square, x))


def test_nested_inputs_and_ints():
    def step(model, batch, pair, scale, flag, none):
        assert flag and none is None
        y = model(batch["x"]) * scale + pair[0] - pair[1][0].float()
        return y.mean()

    inputs = {
        "batch": {"x": torch.randn(2, 4)},
        "pair": (torch.randn(2, 3), [torch.arange(3)]),
        "scale": 3,
        "flag": True,
        "none": None,
    }
    joint = assert_exact(nn.Linear(4, 3), step, inputs)
    assert joint.input_names == ("batch.x", "pair.0", "pair.1.0")
    assert joint.notes == ("captured for scale = 3, flag = True, none = None",)


def test_one_tensor_given_twice_is_two_inputs():
    x = torch.randn(3, 3)
    step = lambda model, a, b: (model(a) * b).sum()  # noqa: E731
    model = nn.Linear(3, 3)
    joint = assert_exact(model, step, {"a": x, "b": x})
    other = {"a": x, "b": x + 1}
    assert torch.equal(joint.run(*joint.flat_inputs(model, other))[0], step(model, **other))


def test_a_fused_path_that_no_trace_takes_is_noted():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model, x = nn.Sequential(layer, nn.Linear(8, 2)), {"x": torch.randn(2, 5, 8)}
    assert trace(model, square, x).notes == ()
    layer.eval().requires_grad_(False)
    assert trace(model, square, x).notes == (
        "torch may run the frozen 0 through a fused path that no trace takes: expect rounding differences",
    )
