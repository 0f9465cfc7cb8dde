"""Models that others wrote, small and with random weights: GPT-2, Llama, BERT and T5 from transformers."""

from __future__ import annotations

import torch
import transformers

IDS = torch.arange(16).reshape(2, 8) * 7 % 61
MASK = torch.tensor([[1] * 8, [1] * 6 + [0] * 2])
WITH_MASK = {"input_ids": IDS, "labels": IDS, "attention_mask": MASK}
WITHOUT = {"input_ids": IDS, "labels": IDS}


def gpt2(num_layers=2):
    config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=num_layers, n_head=2)
    return transformers.GPT2LMHeadModel(config), WITHOUT, "transformer.h.1.attn"


def llama(num_layers=2):
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=num_layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16,
    )
    return transformers.LlamaForCausalLM(config), WITHOUT, "model.layers.1.self_attn"


def bert(num_layers=2):
    config = transformers.BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=num_layers, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16
    )
    return transformers.BertForMaskedLM(config), WITH_MASK, "bert.encoder.layer.1.attention.self"


def t5(num_layers=1):
    config = transformers.T5Config(
        vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=num_layers, num_heads=2, decoder_start_token_id=0, pad_token_id=0
    )
    return transformers.T5ForConditionalGeneration(config), WITHOUT, "decoder.block.0.layer.1.EncDecAttention"


def step(model, **batch):
    return model(**batch).loss


ALL = [gpt2, llama, bert, t5]
