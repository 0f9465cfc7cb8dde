"""The command line: what it answers, and how it says no."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from hyperviz.cli import main
from hyperviz.cli.advice import ELSEWHERE, PACKAGES, how_to_get
from hyperviz.cli.checks import Check, MissingError
from hyperviz.cli.doctor import examine


def test_the_script_lists_its_commands():
    done = subprocess.run([sys.executable, "-m", "hyperviz.cli", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(command in done.stdout for command in ("demo", "lab", "doctor", "export"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "required"),
        (["dmo"], "invalid choice"),
        (["demo", "--layers", "0"], "at least 1, got 0"),
        (["demo", "--steps", "many"], "got many"),
        (["demo", "--rounds", "2"], "at least 6, got 2"),
    ],
)
def test_a_mistyped_command_is_refused_in_words(words, said, capsys):
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert refused.value.code == 2
    assert said in capsys.readouterr().err


def test_words_that_only_jupyterlab_knows_reach_it():
    done = subprocess.run([sys.executable, "-m", "hyperviz.cli", "lab", "--version"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == version("jupyterlab")


def test_words_that_nobody_knows_are_refused(capsys):
    with pytest.raises(SystemExit) as refused:
        main(["doctor", "--jsno"])
    assert refused.value.code == 2
    assert "--jsno" in capsys.readouterr().err


def test_demo_refuses_a_folder_it_cannot_write(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["demo", "--out", str(tmp_path / "file" / "report")]) == 2
    assert capsys.readouterr().err.startswith("hyperviz demo: ")


def test_doctor_finds_this_machine_ready(capsys):
    assert main(["doctor", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    works = {finding["name"]: finding["works"] for finding in answer["findings"]}
    assert answer["ready"]
    assert works["C++ compiler"] and works["regional Inductor"] and works["pictures"]


def test_doctor_says_what_is_missing_and_goes_on(capsys):
    def missing():
        raise MissingError("no compiler", "apt-get install g++")

    def broken():
        raise RuntimeError("first line\nsecond line")

    found = examine((Check("a", missing, needed=True), Check("b", broken), Check("c", lambda: "fine")))
    assert [finding.works for finding in found] == [False, False, True]
    assert "MISSING" in str(found[0]) and "-> apt-get install g++" in str(found[0])
    assert found[1].detail == "RuntimeError: first line"


def test_doctor_without_a_compiler_says_what_to_install(tmp_path):
    """A real machine without a compiler, as far as a process can tell: CXX names nothing."""
    code = "import sys; from hyperviz.cli.checks import CHECKS; from hyperviz.cli.doctor import examine; print(*examine(CHECKS[3:4]))"
    environment = {"CXX": "no-such-compiler", "PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "MISSING" in done.stdout and "no C++ compiler" in done.stdout and "->" in done.stdout, done.stderr


@pytest.mark.parametrize("system", ELSEWHERE)
def test_advice_exists_for_every_system(system, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    assert all(how_to_get(what) for what in PACKAGES)
