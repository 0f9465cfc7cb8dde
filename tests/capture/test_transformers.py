"""Models that others wrote: GPT-2, Llama, BERT and T5, small and with random weights."""

import pytest
import torch
import transformers
from eager import assert_exact

from hyperviz.graph import take_snapshot


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """Transformers logs that special tokens lie outside a small vocabulary; nothing here uses them."""
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    yield
    transformers.logging.set_verbosity(before)


IDS = torch.arange(16).reshape(2, 8) * 7 % 61
MASK = torch.tensor([[1] * 8, [1] * 6 + [0] * 2])
WITH_MASK = {"input_ids": IDS, "labels": IDS, "attention_mask": MASK}
WITHOUT = {"input_ids": IDS, "labels": IDS}


def gpt2():
    config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2)
    return transformers.GPT2LMHeadModel(config), WITHOUT, "transformer.h.1.attn"


def llama():
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16,
    )
    return transformers.LlamaForCausalLM(config), WITHOUT, "model.layers.1.self_attn"


def bert():
    config = transformers.BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16
    )
    return transformers.BertForMaskedLM(config), WITH_MASK, "bert.encoder.layer.1.attention.self"


def t5():
    config = transformers.T5Config(
        vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0, pad_token_id=0
    )
    return transformers.T5ForConditionalGeneration(config), WITHOUT, "decoder.block.0.layer.1.EncDecAttention"


def step(model, **batch):
    return model(**batch).loss


@pytest.mark.parametrize("make", [gpt2, llama, bert, t5])
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
