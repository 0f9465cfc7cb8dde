"""``hyperviz lab``: JupyterLab, opened where the notebooks are."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import hyperviz

NOTEBOOKS = Path(hyperviz.__file__).parents[1] / "notebooks"


def lab(options: argparse.Namespace) -> int:
    """Runs JupyterLab on the notebooks of the checkout that hyperviz is installed from, until it is stopped.

    Args:
        options: ``jupyter``, further words for ``jupyter lab``.

    Returns:
        0.

    Raises:
        ValueError: if the notebooks or JupyterLab are not there.
    """
    if not NOTEBOOKS.is_dir():
        raise ValueError(f"the notebooks come with the checkout, and {NOTEBOOKS} is not there: pip install -e CHECKOUT")
    try:
        from jupyterlab.labapp import LabApp  # takes a second that no other command should wait for
    except ImportError as error:
        raise ValueError(f"JupyterLab cannot be started: {error}; pip install jupyterlab") from error
    # As root, as in most containers, Jupyter refuses to start unless it is told that this is meant.
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    LabApp.launch_instance([*root, f"--ServerApp.root_dir={NOTEBOOKS}", *options.jupyter])
    return 0
