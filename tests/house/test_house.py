"""What a fresh clone must be: whole, consistent, and free of leftovers."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text()
MAKEFILE = (CHECKOUT / "Makefile").read_text()
MAX_LINES = 400


def tracked(*patterns):
    """The files that git holds, that lie here; everything that matches where there is no git."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=CHECKOUT, capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [str(p) for pattern in patterns for p in CHECKOUT.rglob(pattern)]
    return [CHECKOUT / name for name in names if (CHECKOUT / name).is_file()]


def test_notebooks_are_kept_without_outputs():
    notebooks = tracked("notebooks/*.ipynb")
    assert notebooks
    for notebook in notebooks:
        content = json.loads(notebook.read_text())
        code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code), f"clear the outputs of {notebook.name}"
        assert "widgets" not in content["metadata"], f"clear the widget state of {notebook.name}"


def test_files_stay_small_and_say_what_they_are_for():
    for file in tracked("*.py"):
        text = file.read_text()
        assert text.count("\n") <= MAX_LINES, f"{file} has more than {MAX_LINES} lines: look for the second idea in it"
        assert text.startswith('"""'), f"the first line of {file} says what it is for"


def test_one_version():
    assert re.search(r'^version = "(.+)"$', (CHECKOUT / "pyproject.toml").read_text(), re.M).group(1) == version("hyperviz")
    assert f"\n## {version('hyperviz')}" in (CHECKOUT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)\b", README))))
def test_readme_names_real_make_targets(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.M)


def test_readme_shows_files_that_exist():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in link:
            assert (CHECKOUT / link).exists(), link


def test_readme_example_prints_what_it_says(tmp_path):
    """The example is run as it stands; numbers that depend on the machine are compared as words only."""
    code, printed = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.S).groups()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert _without_numbers(done.stdout) == _without_numbers(printed)


def _without_numbers(text):
    return re.sub(r"\d[\d,.]*", "#", text).split()


def test_every_direct_requirement_is_pinned():
    project = (CHECKOUT / "pyproject.toml").read_text()
    wanted = {re.split(r"[\[>=<]", name)[0] for name in re.findall(r'^  "([a-z0-9-]+.*?)",$', project.split("[project.scripts]")[0], re.M)}
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (CHECKOUT / "constraints.txt").read_text(), re.M))
    assert wanted and wanted <= pinned


def test_wheel_ships_what_it_needs(tmp_path):
    """The scripts, styles and texts that the package reads at run time are in what pip builds."""
    source, wheels = tmp_path / "source", tmp_path / "wheels"
    shutil.copytree(CHECKOUT / "hyperviz", source / "hyperviz", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(source)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = wheels.glob("*.whl")
    needed = {str(file.relative_to(source)) for file in (source / "hyperviz").rglob("*.*") if file.suffix != ".pyc"}
    assert {name for name in needed if not name.endswith(".py")}, "the package has data files"
    assert needed <= set(zipfile.ZipFile(wheel).namelist())
