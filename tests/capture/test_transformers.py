"""Models that others wrote: GPT-2, Llama, BERT and T5, small and with random weights."""

import pytest
import torch
import transformers
from eager import assert_exact
from models_of_others import ALL, step

from hyperviz.graph import take_snapshot


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """Transformers logs that special tokens lie outside a small vocabulary; nothing here uses them."""
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    yield
    transformers.logging.set_verbosity(before)


@pytest.mark.parametrize("make", ALL)
def test_captured_exactly_and_described(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model, inputs, a_module = make()
        joint = assert_exact(model.train(), step, inputs)
    graph = take_snapshot(joint.graph_module)
    calls = [node for node in graph.nodes if node.op == "call_function"]
    assert a_module in {node.module_path for node in calls if node.phase == "forward"}
    assert a_module in {node.module_path for node in calls if node.phase == "backward"}
    assert all(node.twin for node in calls if node.phase == "backward")
    assert all(node.source is not None for node in calls)
    modeling = [node for node in calls if node.source.file.endswith(f"modeling_{make.__name__}.py")]
    assert len(modeling) > len(calls) / 2  # most nodes name a line of the model, not the line that called it
