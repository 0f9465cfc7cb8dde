"""What ``hyperviz doctor`` tries, each by doing a small piece of the real work."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch._inductor import config as inductor_settings

import hyperviz as hv
from hyperviz.cli.advice import how_to_get
from hyperviz.cli.compiler import run_tiny_program
from hyperviz.cli.lab import NOTEBOOKS
from hyperviz.render import layout
from hyperviz.snapshot import GraphSnapshot, NodeSnapshot

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class MissingError(Exception):
    """Something does not work here.

    Attributes:
        detail: what was found instead.
        remedy: how to get it; empty where it cannot be had.
    """

    def __init__(self, detail: str, remedy: str = ""):
        super().__init__(detail)
        self.detail, self.remedy = detail, remedy


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to try.

    Attributes:
        name: what a person calls it.
        run: tries it and returns what was found; raises ``MissingError`` where it does not work.
        needed: whether the main job needs it.
    """

    name: str
    run: Callable[[], str]
    needed: bool = False


def _python() -> str:
    return f"{platform.python_version()} at {sys.executable}"


def _torch() -> str:
    return f"{torch.__version__} at {Path(torch.__file__).parent}"


def _threads() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{torch.get_num_threads()} of torch on {cores} cores"


def _compiler() -> str:
    try:
        return run_tiny_program()
    except FileNotFoundError as error:
        raise MissingError(str(error), how_to_get("compiler")) from error
    except RuntimeError as error:
        raise MissingError(str(error), how_to_get("headers" if "Python.h" in str(error) else "compiler")) from error


def _regional() -> str:
    model, inputs = torch.nn.Linear(4, 4), {"x": torch.ones(2, 4)}
    joint = hv.trace(model, lambda model, x: model(x).sigmoid().sum(), inputs)
    compiled = hv.compile(joint, hv.PassConfig(inductor_mode="regional"))
    if compiled.report.mode == "unavailable":
        raise MissingError(f"torch {torch.__version__} compiles no regions: plans and pictures only", 'pip install "torch>=2.10"')
    equality = hv.compare(joint, compiled, joint.flat_inputs(model, inputs))
    return f"a step of {len(compiled.plan.graph)} nodes compiled in {compiled.report.seconds:.1f} s: {equality}"


def _numerics() -> str:
    if not hasattr(inductor_settings, "eager_numerics"):
        raise MissingError(
            f"torch {torch.__version__} has no exact division: a quotient may differ by one rounding", 'pip install "torch>=2.11"'
        )
    return "division rounds as eager does"


def _pictures() -> str:
    graph = GraphSnapshot((NodeSnapshot("x", "placeholder", "x"), NodeSnapshot("y", "call_function", "aten.neg.default", inputs=("x",))))
    boxes = layout(graph).boxes
    return f"{len(boxes)} nodes placed by pygraphviz {importlib.metadata.version('pygraphviz')}"


def _lab() -> str:
    from jupyter_core.paths import jupyter_path

    names = ("jupyterlab", "ipywidgets", "anywidget")
    extensions = {"@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets", "anywidget": "anywidget"}
    for extension, package in extensions.items():
        if not any(Path(folder, extension).is_dir() for folder in jupyter_path("labextensions")):
            raise MissingError(f"JupyterLab does not see the extension {extension}", f"pip install --force-reinstall {package}")
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def _notebooks() -> str:
    found = sorted(NOTEBOOKS.glob("*.ipynb"))
    if not found:
        raise MissingError(f"none in {NOTEBOOKS}", "install from the checkout: pip install -e CHECKOUT")
    return f"{len(found)} in {NOTEBOOKS}"


def _cuda() -> str:
    if not torch.cuda.is_available():
        raise MissingError(f"none that torch {torch.__version__} can use; everything runs on the CPU")
    return ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))


def _ranks() -> str:
    if not torch.distributed.is_available():
        raise MissingError("this torch was built without torch.distributed")
    names = {"gloo": torch.distributed.is_gloo_available, "nccl": torch.distributed.is_nccl_available}
    return " and ".join(name for name, available in names.items() if available()) or "no backend"


def _browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise MissingError("no Chromium: the tests that open a real JupyterLab are skipped", how_to_get("browser"))
    return found


CHECKS = (
    Check("Python", _python, needed=True),
    Check("torch", _torch, needed=True),
    Check("threads", _threads),
    Check("C++ compiler", _compiler, needed=True),
    Check("regional Inductor", _regional, needed=True),
    Check("exact division", _numerics),
    Check("pictures", _pictures, needed=True),
    Check("JupyterLab", _lab),
    Check("notebooks", _notebooks),
    Check("CUDA devices", _cuda),
    Check("ranks", _ranks),
    Check("browser", _browser),
)
