"""Models that others wrote, through the whole chain: captured, planned, drawn, compiled and compared."""

from __future__ import annotations

import pytest
import torch
import transformers
from models_of_others import ALL, step

import hyperviz as hv


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """Transformers logs that special tokens lie outside a small vocabulary; nothing here uses them."""
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    yield
    transformers.logging.set_verbosity(before)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_from_model_to_verdict(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model, inputs, a_module = make(num_layers=1)  # the capture tests take two; compiling is the slow part
    model.eval()  # dropout has its own generator in Inductor, so that a comparison would say "random"
    joint = hv.trace(model, step, inputs)
    flat = joint.flat_inputs(model, inputs)
    plan = hv.plan(joint, hv.PassConfig(inductor_mode="regional"))
    calls = [node for node in plan.graph.nodes if node.op not in ("placeholder", "get_attr", "output")]
    assert plan.num_compiled + len(plan.eager) == len(calls)
    svg = hv.show(plan).data("svg").decode()
    assert all(f'data-name="{node.name}"' in svg for node in plan.graph.nodes)
    assert a_module.partition(".")[0] in svg
    compiled = hv.compile(joint, hv.PassConfig(inductor_mode="regional"))
    equality = hv.compare(joint, compiled, flat)
    assert equality.verdict in ("bitwise", "rounding"), [output for output in equality.outputs if output.verdict != "bitwise"]
    assert [output.name for output in equality.outputs[:1]] == ["loss"]
