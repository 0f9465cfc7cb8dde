"""The files that the demo leaves: one page that holds everything, and its parts for slides, mails and other programs."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path

import torch

import hyperviz as hv
from hyperviz import render
from hyperviz.cli.study import Study


def write_report(study: Study, folder: Path, command: str) -> list[Path]:
    """Writes a study into a folder.

    Args:
        study: what was found.
        folder: exists.
        command: what would make the same again; the page says so.

    Returns:
        The files, ``report.html`` first.
    """
    page = render.html(
        study.plans, timings=study.timings, equalities=study.equalities, reports=study.reports, versions=_versions(), command=command
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    (folder / "data.json").write_text(json.dumps(_data(study, command), indent=1), encoding="utf-8")
    return [
        folder / "report.html",
        hv.export(study.plans["regional"], folder / "regions.svg"),
        hv.export(study.timings, folder / "timings.png"),
        hv.export(study.equalities["regional"], folder / "equality.png"),
        folder / "data.json",
    ]


def _data(study: Study, command: str) -> dict[str, object]:
    """Every number of the study, as plain data."""
    return {
        "command": command,
        "versions": _versions(),
        "plans": {
            label: {"text": str(plan), "regions": [asdict(region) for region in plan.regions]} for label, plan in study.plans.items()
        },
        "reports": {label: asdict(report) for label, report in study.reports.items()},
        "equalities": {label: asdict(equality) for label, equality in study.equalities.items()},
        "timings": asdict(study.timings),
    }


def _versions() -> dict[str, str]:
    return {"hyperviz": hv.__version__, "torch": torch.__version__, "python": platform.python_version(), "system": platform.platform()}
