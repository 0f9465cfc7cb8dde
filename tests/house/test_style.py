"""The house rules that tools can check: format, lint, types, and the order of the rooms."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
TOOLS = {
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "lint": [sys.executable, "-m", "ruff", "check", "."],
    "types": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
    "rooms": [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_tool_finds_nothing(tool):
    done = subprocess.run(TOOLS[tool], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
