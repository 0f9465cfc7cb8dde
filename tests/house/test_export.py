"""``hyperviz export``: a saved plan drawn again, and files that are none."""

import pytest
import torch

import hyperviz as hv
from hyperviz.cli import main


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model, inputs = torch.nn.Linear(2, 2), {"x": torch.ones(1, 2)}
    joint = hv.trace(model, lambda model, x: model(x).tanh().sum(), inputs)
    path = tmp_path_factory.mktemp("saved") / "plan.json"
    hv.export(hv.plan(joint, hv.PassConfig(inductor_mode="regional")), path)
    return path


@pytest.mark.parametrize(("suffix", "holds"), [("svg", b"<"), ("dot", b"digraph"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("json", b"{")])
def test_a_saved_plan_is_drawn_as_the_suffix_says(saved, suffix, holds, tmp_path, capsys):
    out = tmp_path / f"again.{suffix}"
    assert main(["export", str(saved), str(out)]) == 0
    assert holds in out.read_bytes()[:100]
    assert str(out) in capsys.readouterr().out


def test_what_is_read_is_what_was_saved(saved, tmp_path):
    assert main(["export", str(saved), str(tmp_path / "again.json")]) == 0
    assert (tmp_path / "again.json").read_text() == saved.read_text()


@pytest.mark.parametrize(
    ("content", "out", "said"),
    [
        (None, "a.svg", "No such file"),
        ("not json", "a.svg", "JSON"),
        ('{"a": 1}', "a.svg", ""),
        ("saved", "a.gif", ".gif"),
        ("saved", "nowhere/a.svg", "nowhere"),
    ],
)
def test_one_clear_sentence_for_what_cannot_be_done(saved, content, out, said, tmp_path, capsys):
    source = tmp_path / "source.json"
    if content is not None:
        source.write_text(saved.read_text() if content == "saved" else content)
    assert main(["export", str(source), str(tmp_path / out)]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("hyperviz export: ") and said in complaint
    assert complaint.count("\n") == 1 and "Traceback" not in complaint
