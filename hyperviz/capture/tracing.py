"""From a model, a loss function and a batch to the joint graph of one training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.fx.traceback import preserve_node_meta

from hyperviz.capture.borrow import ModelState, lend, random_state_kept, rebound_buffers
from hyperviz.capture.inputs import InputSpec
from hyperviz.capture.joint_graph import JointGraph
from hyperviz.capture.recorder import Recorder
from hyperviz.capture.refusals import check_loss, check_signature, refused_clearly
from hyperviz.capture.tidy import tidy
from hyperviz.capture.world import FakeWorld
from hyperviz.graph.gathers import rewrite_gathers
from hyperviz.graph.provenance import write_provenance


def trace(
    model: nn.Module, train_fn: Callable[..., torch.Tensor], inputs: Mapping[str, Any], *, world: FakeWorld | None = None
) -> JointGraph:
    """Captures one training step as one FX graph: forward, loss, and the gradient of every parameter.

    Runs ``train_fn(model, **inputs)`` and ``torch.autograd.grad`` once on fake tensors, which have shapes and no data: nothing is computed,
    and the model, its gradients and the random generators are left as they were. Run with the same seed, the graph returns bit for bit what
    the program and autograd return.

    Args:
        model: its parameters and buffers become the leading placeholders.
        train_fn: called as ``train_fn(model, **inputs)``; returns the loss, a scalar tensor.
        inputs: what ``train_fn`` takes by name: tensors, or dicts, lists and tuples of them. Each tensor becomes a placeholder. Any other
            leaf must be hashable (None, bool, int, float, str, dtype, …); the graph holds for its value only, and says so in its notes.
        world: ranks to capture for that do not exist: the program sees torch's fake process group of that size, the graph can be looked
            at, planned and estimated, and it refuses to run.

    Returns:
        The joint graph. Its nodes carry ``meta`` ``"val"`` (a fake tensor), ``"stack_trace"``, ``"nn_module_stack"`` and ``"seq_nr"`` as
        torch defines them, and ``"phase"``, ``"module_path"`` and ``"twin"`` as ``hyperviz.graph.provenance`` defines them.

    Raises:
        ValueError: what was given cannot be captured: no ``nn.Module``, inputs that are no dict or have an unhashable leaf, a loss that
            is no differentiable scalar, a program that lets Python decide on the values of tensors, as in ``if x.sum() > 0``, or an
            operator that would not do the same in a graph (oneDNN's LSTM, random numbers under ``torch.utils.checkpoint``).

    Example::

        >>> trace(GPT(), gpt_step, sample_batch(load_text(), batch_size=8, length=64))
        JointGraph of GPT: 518 nodes, loss and 52 gradients

    A tensor that is neither in the model nor in ``inputs`` (a plain attribute, a global) stays in the graph as the constant that it is. An
    assigned buffer (``self.mean = …``) is written into the buffer at the end of the step. What runs under ``torch.compile`` is traced as
    the plain program. The captured program is the one that Python ran this time: what it decides on shapes, flags, or its own random
    numbers is decided for good.
    """
    state = ModelState.of(model)
    spec = InputSpec.of(inputs)
    check_signature(train_fn, inputs)
    _check_no_parameter(inputs, spec, state)
    step = Step(model, train_fn, state, spec)
    if world is not None and not isinstance(world, FakeWorld):
        raise ValueError(f"world must be an hv.FakeWorld, got {type(world).__name__}")
    with refused_clearly(), _clean_modes(), random_state_kept(), world.installed() if world else nullcontext():
        graph_module = step.trace(spec.flatten(inputs))
    return _finish(graph_module, step, world)


def _check_no_parameter(inputs: Mapping[str, Any], spec: InputSpec, state: ModelState) -> None:
    trainable = {id(tensor): fqn for fqn, tensor in zip(state.fqns, state.tensors, strict=True) if tensor.requires_grad}
    for name, tensor in zip(spec.tensor_names, spec.flatten(inputs), strict=True):
        if id(tensor) in trainable:
            raise ValueError(
                f"inputs[{name!r}] must not be a parameter of the model, got {trainable[id(tensor)]!r}: take it from the model"
            )


@dataclass(slots=True)
class Step:
    """The function that is traced, and what is noted while it runs.

    Attributes:
        model: whose state is an argument.
        train_fn: the user's.
        state: the model's own tensors.
        spec: the inputs' structure.
        recorder: of the trace; None before.
    """

    model: nn.Module
    train_fn: Callable[..., torch.Tensor]
    state: ModelState
    spec: InputSpec
    recorder: Recorder | None = field(default=None, init=False)

    def trace(self, input_tensors: Sequence[torch.Tensor]) -> fx.GraphModule:
        """Traces the step on fake copies of the state and the inputs."""
        mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=True)
        tensors = (*self.state.tensors, *_apart(input_tensors, self.state))
        fake = [mode.from_tensor(tensor, static_shapes=True) for tensor in tensors]
        autocast_cache = torch.is_autocast_cache_enabled()

        def step(*flat: torch.Tensor) -> list[torch.Tensor | None]:
            torch.set_autocast_cache_enabled(autocast_cache)  # make_fx turns it off; without it, a weight used twice is cast twice
            return self.run(flat)

        step._orig_mod = self.model  # pyright: ignore[reportFunctionMemberAccess]  # where make_fx reads the module paths from
        return make_fx(step, tracing_mode="fake", record_module_stack=True)(*fake)

    def run(self, flat: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """Loss and gradients, from state and inputs."""
        self.recorder = Recorder(get_proxy_mode().tracer, outermost=self.run.__code__)  # pyright: ignore[reportOptionalMemberAccess]
        state, inputs = flat[: len(self.state.fqns)], flat[len(self.state.fqns) :]
        _copy_hooks(self.state.tensors, state)
        with lend(self.model, self.state, state):
            loss = self.train_fn(self.model, **self.spec.unflatten(inputs))
            check_loss(loss, self.train_fn)
            self.recorder.start_backward(loss)
            gradients = self.gradients(loss, state)
            with torch.no_grad():
                for given, now in rebound_buffers(self.model, self.state, state):
                    given.copy_(now)
        return [loss, *gradients]

    def gradients(self, loss: torch.Tensor, state: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """One gradient per parameter, None where it is frozen or the loss does not depend on it."""
        parameters = [tensor for tensor, is_param in zip(state, self.state.is_param, strict=True) if is_param]
        wanted = [parameter for parameter in parameters if parameter.requires_grad]
        found = iter(torch.autograd.grad(loss, wanted, allow_unused=True) if wanted else ())
        return [next(found) if parameter.requires_grad else None for parameter in parameters]


def _apart(input_tensors: Sequence[torch.Tensor], state: ModelState) -> Iterator[torch.Tensor]:
    """Gives a tensor that comes twice a second identity, for a fake tensor can stand for one placeholder only."""
    seen = {id(tensor) for tensor in state.tensors}
    for tensor in input_tensors:
        yield tensor.detach().requires_grad_(tensor.requires_grad) if id(tensor) in seen else tensor
        seen.add(id(tensor))


def _copy_hooks(own: Sequence[torch.Tensor], lent: Sequence[torch.Tensor]) -> None:
    """Hands the hooks of parameters on, for autograd.grad runs them."""
    for tensor, other in zip(own, lent, strict=True):
        for hook in (tensor._backward_hooks or {}).values():
            other.register_hook(hook)


@contextmanager
def _clean_modes() -> Iterator[None]:
    """Sets torch's switches as a trace needs them: gradients on, one thread for the backward, annotations kept, compiled parts plain."""
    from torch._dynamo import config  # loads a good part of the compiler: only when something is traced

    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autograd.set_multithreading_enabled(False),
        config.patch(error_on_nested_fx_trace=False),
        preserve_node_meta(),
    ):
        try:
            yield
        finally:
            torch.clear_autocast_cache()  # else an autocast block around the call would keep fake casts


def _finish(graph_module: fx.GraphModule, step: Step, world: FakeWorld | None) -> JointGraph:
    """Names, cleans and annotates what was traced."""
    graph, state, spec, recorder = graph_module.graph, step.state, step.spec, step.recorder
    assert recorder is not None and recorder.first_backward is not None
    backward = list(graph.nodes)[recorder.first_backward :]
    tidy(graph)
    names = (*state.fqns, *spec.tensor_names)
    placeholders = graph.find_nodes(op="placeholder")
    for node, name in zip(placeholders, names, strict=True):
        _rename(node, name)
    for node, fqn in zip(placeholders, state.fqns, strict=False):
        node.meta["module_path"] = fqn.rpartition(".")[0]
    graph_module.__class__.__name__ = f"{type(step.model).__name__}Step"
    graph.lint()
    graph_module.recompile()
    alive = set(graph.nodes)
    write_provenance(graph, next((node for node in backward if node in alive and node.op != "output"), None))
    if world is not None:
        graph_module.meta["fake_world"] = world.size
    about_gathers = "" if world else rewrite_gathers(graph_module)
    return JointGraph(
        graph_module=graph_module,
        example_inputs=tuple(node.meta["val"] for node in placeholders),
        state_fqns=state.fqns,
        state_is_param=state.is_param,
        input_spec=spec,
        output_names=("loss", *(f"grad of {fqn}" for fqn, is_param in zip(state.fqns, state.is_param, strict=True) if is_param)),
        title=type(step.model).__name__,
        notes=(*([about_gathers] if about_gathers else []), *_notes(spec), *_fused_notes(step.model)),
        world=world,
    )


def _rename(placeholder: fx.Node, name: str) -> None:
    placeholder._rename(name)
    placeholder.target = placeholder.name


def _notes(spec: InputSpec) -> tuple[str, ...]:
    fixed = [f"{spec.names[position]} = {value!r}" for position, value in spec.constants.items()]
    return (f"captured for {', '.join(fixed)}",) if fixed else ()


def _fused_notes(model: nn.Module) -> tuple[str, ...]:
    """One sentence where torch would run frozen attention through its fused inference path, which it does not take while it traces."""
    kinds = (nn.MultiheadAttention, nn.TransformerEncoderLayer)
    for name, module in model.named_modules():
        if isinstance(module, kinds) and not module.training and not any(p.requires_grad for p in module.parameters()):
            return (f"torch may run the frozen {name or 'model'} through a fused path that no trace takes: expect rounding differences",)
    return ()
