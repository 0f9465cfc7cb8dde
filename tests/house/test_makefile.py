"""``make`` on a machine that lacks something says what to install, before it starts anything."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on this machine")


def make(*words):
    return subprocess.run(["make", "-C", str(CHECKOUT), "--no-print-directory", *words], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compiler", "CXX=no-such-compiler"], "apt-get install g++"),
        (["demo", "CXX=no-such-compiler"], "apt-get install g++"),
        (["python", "PYTHON=no-such-python"], "Python 3.10 or newer"),
    ],
)
def test_what_is_missing_is_said_first(words, said):
    done = make(*words, f"VENV={CHECKOUT / 'no-such-environment'}")
    assert done.returncode != 0
    assert said in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert not (CHECKOUT / "no-such-environment").exists()


def test_a_machine_that_has_everything_is_let_through():
    done = make("compiler", f"PYTHON={sys.executable}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_make_alone_lists_the_targets():
    done = make()
    assert done.returncode == 0
    assert {line.split()[0] for line in done.stdout.splitlines()} >= {"env", "demo", "lab", "test", "bench", "lint", "clean"}
