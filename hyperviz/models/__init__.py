"""Small real models and real text, for demos and tests."""

from hyperviz.models.gpt import GPT, GPTConfig, gpt_step
from hyperviz.models.text import VOCAB_SIZE, decode, load_text, sample_batch
from hyperviz.models.training import train

__all__ = ["GPT", "VOCAB_SIZE", "GPTConfig", "decode", "gpt_step", "load_text", "sample_batch", "train"]
