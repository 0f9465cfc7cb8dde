"""The files that the demo leaves: one page that holds everything, and its parts for slides, mails and other programs."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

import torch

import hyperviz as hv
from hyperviz import render
from hyperviz.cli.study import Study
from hyperviz.snapshot import to_json


def write_report(study: Study, folder: Path, command: str) -> list[Path]:
    """Writes a study into a folder.

    Args:
        study: what was found.
        folder: exists.
        command: what would make the same again; the page says so.

    Returns:
        The files, ``report.html`` first.

    Raises:
        OSError: if a file cannot be written.
    """
    page = render.html(
        study.plans, timings=study.timings, equalities=study.equalities, reports=study.reports, versions=_versions(), command=command
    )
    report, data = folder / "report.html", folder / "data.json"
    report.write_text(page, encoding="utf-8")
    data.write_text(json.dumps(_data(study, command), indent=1), encoding="utf-8")
    return [
        report,
        hv.export(max(study.plans.values(), key=lambda plan: len(plan.regions)), folder / "regions.svg"),
        hv.export(study.timings, folder / "timings.png"),
        hv.export(study.equalities["regional"], folder / "equality.png"),
        data,
    ]


def _data(study: Study, command: str) -> dict[str, object]:
    """Every number of the study; each plan, report, equality and the timings as ``hyperviz.snapshot.to_json`` writes them."""

    def plain(found):
        return {label: json.loads(to_json(one)) for label, one in found.items()}

    return {
        "command": command,
        "versions": _versions(),
        "timings": json.loads(to_json(study.timings)),
        "reports": plain(study.reports),
        "equalities": plain(study.equalities),
        "plans": plain(study.plans),
    }


def _versions() -> dict[str, str]:
    versions = {"hyperviz": version("hyperviz"), "torch": str(torch.__version__)}
    return {**versions, "python": platform.python_version(), "system": platform.platform()}
