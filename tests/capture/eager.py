"""The program itself: what a captured step is compared with."""

import copy

import torch

from hyperviz.capture import trace


def bits(tensor):
    """Type, shape, strides and raw bytes: two tensors are the same if these are."""
    if tensor is None:
        return None
    tensor = tensor.detach()
    raw = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return tensor.dtype, tensor.shape, tensor.stride(), raw


def eager_step(model, train_fn, inputs):
    """Loss and one gradient per parameter, None for frozen and unused ones, as autograd computes them."""
    parameters = list(model.parameters())
    loss = train_fn(model, **inputs)
    found = iter(torch.autograd.grad(loss, [p for p in parameters if p.requires_grad], allow_unused=True))
    return [loss, *(next(found) if p.requires_grad else None for p in parameters)]


def assert_exact(model, train_fn, inputs, num_steps=2):
    """Captures a step, runs it and the program side by side from the same seeds, and compares every bit; returns the joint graph."""
    program, captured = copy.deepcopy(model), copy.deepcopy(model)
    joint = trace(model, train_fn, inputs)
    flat = joint.flat_inputs(captured, inputs)
    for seed in range(num_steps):
        torch.manual_seed(seed)
        wanted = eager_step(program, train_fn, inputs)
        state = torch.get_rng_state()
        torch.manual_seed(seed)
        came = joint.run(*flat)
        assert torch.equal(torch.get_rng_state(), state), "another amount of random numbers was drawn"
        assert len(came) == len(wanted) == len(joint.output_names)
        for name, one, other in zip(joint.output_names, wanted, came, strict=True):
            assert bits(one) == bits(other), f"{name} differs in step {seed}"
            assert other is None or other.grad_fn is None
        for (name, one), other in zip(program.named_buffers(), captured.buffers(), strict=True):
            assert bits(one) == bits(other), f"buffer {name} differs after step {seed}"
    return joint


def targets(joint):
    """The targets of the graph's calls, as text."""
    return [str(node.target) for node in joint.graph_module.graph.nodes if node.op == "call_function"]
