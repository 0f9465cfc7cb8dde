"""The GPT that ships with the package, its text, and its training."""

import pytest
import torch

from hyperviz.models import GPT, GPTConfig, decode, gpt_step, load_text, sample_batch, train

SMALL = {"num_layers": 1, "num_heads": 2, "width": 16, "context": 16}


def make(**changes):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GPT(GPTConfig(**{**SMALL, **changes}))


@pytest.fixture(scope="module")
def text():
    return load_text()


def test_the_text_is_the_book(text):
    assert text.dtype == torch.int64 and 140_000 < len(text) < 160_000
    book = decode(text)
    assert book.isascii()
    assert "Alice was beginning to get very tired of sitting by her sister\non the bank" in book
    assert book.count("CHAPTER") == 12 and book.rstrip().endswith("THE END")


def test_targets_are_the_next_bytes(text):
    batch = sample_batch(text, 3, 10, torch.Generator().manual_seed(1))
    assert batch["tokens"].shape == batch["targets"].shape == (3, 10)
    assert torch.equal(batch["tokens"][:, 1:], batch["targets"][:, :-1])
    again = sample_batch(text, 3, 10, torch.Generator().manual_seed(1))
    assert torch.equal(batch["tokens"], again["tokens"])
    for row in batch["tokens"]:
        assert decode(row) in decode(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 10), "batch_size must be ≥ 1, got 0"), ((1, 0), "length must be from 1"), ((1, 10**6), "got 1000000")],
)
def test_batches_that_cannot_be(text, arguments, message):
    with pytest.raises(ValueError, match=message):
        sample_batch(text, *arguments)


def test_both_attentions_compute_the_same(text):
    tokens = sample_batch(text, 2, 16, torch.Generator().manual_seed(0))["tokens"]
    sdpa, explicit = make(), make(attention="explicit")
    explicit.load_state_dict(sdpa.state_dict())
    torch.testing.assert_close(sdpa(tokens), explicit(tokens))


@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
def test_no_position_sees_a_later_one(attention):
    model = make(attention=attention)
    tokens = torch.arange(16)[None]
    changed = tokens.clone()
    changed[0, 10:] += 1
    before, after = model(tokens)[0], model(changed)[0]
    torch.testing.assert_close(before[:10], after[:10])
    assert not torch.allclose(before[10:], after[10:])


def test_a_tied_head_is_the_embedding():
    tied, untied = make(), make(tied=False)
    assert tied.head.weight is tied.token.weight
    assert untied.head.weight is not untied.token.weight
    assert len(list(untied.parameters())) == len(list(tied.parameters())) + 1


def test_dropout_acts_in_training_only():
    model, tokens = make(dropout=0.5), torch.arange(16)[None]
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 0}, "num_layers must be ≥ 1, got 0"),
        ({"num_heads": 3}, "num_heads must divide width, got 3 heads and width 16"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"attention": "flash"}, "attention must be one of sdpa, explicit, got 'flash'"),
    ],
)
def test_configs_that_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        GPTConfig(**{**SMALL, **changes})


def test_a_sequence_longer_than_the_context():
    with pytest.raises(ValueError, match="tokens must be at most 16 long, got 17"):
        make()(torch.zeros(1, 17, dtype=torch.int64))


@pytest.mark.parametrize(("optimizer", "learning_rate"), [("adamw", 1e-2), ("sgd", 1.0)])
def test_training_learns_and_is_repeatable(optimizer, learning_rate):
    def run():
        return train(make(), 20, batch_size=4, length=16, optimizer=optimizer, learning_rate=learning_rate)

    losses = run()
    assert len(losses) == 20
    assert sum(losses[-5:]) / 5 < losses[0] - 1
    assert run() == losses


def test_progress_hears_every_step():
    heard = []
    losses = train(make(), 3, batch_size=1, length=8, progress=lambda number, loss: heard.append((number, loss)))
    assert heard == list(enumerate(losses))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"steps": -1}, "steps must be ≥ 0, got -1"), ({"steps": 1, "optimizer": "adam"}, "optimizer must be one of adamw, sgd, got 'adam'")],
)
def test_trainings_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        train(make(), **arguments)


def test_the_loss_is_that_of_guessing_before_training(text):
    batch = sample_batch(text, 4, 16, torch.Generator().manual_seed(0))
    assert abs(gpt_step(make(), **batch).item() - torch.log(torch.tensor(256.0)).item()) < 0.2
