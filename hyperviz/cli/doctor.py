"""``hyperviz doctor``: what this machine and this torch can do, tried rather than looked up."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

from hyperviz.cli.checks import CHECKS, Check, MissingError


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        name: what was checked.
        works: whether it works here.
        needed: whether the main job needs it.
        detail: what was found.
        remedy: how to get what is missing; empty where nothing is, or where it cannot be had.
    """

    name: str
    works: bool
    needed: bool
    detail: str
    remedy: str = ""

    def __str__(self) -> str:
        mark = "ok" if self.works else "MISSING" if self.needed else "without"
        return f"{mark:8}{self.name:18}{self.detail}" + (f"\n{'':26}-> {self.remedy}" if self.remedy else "")


def doctor(options: argparse.Namespace) -> int:
    """Prints what works, what does not, and how to get it.

    Args:
        options: ``json``, whether to print JSON instead of lines.

    Returns:
        0 where everything works that the main job needs, 1 otherwise.
    """
    findings = examine(CHECKS)
    missing = [finding.name for finding in findings if finding.needed and not finding.works]
    if options.json:
        print(json.dumps({"ready": not missing, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        print(*findings, "", sep="\n")
        print(f"Not ready: first {', '.join(missing)}, then again." if missing else "Ready: hyperviz demo")
    return 1 if missing else 0


def examine(checks: tuple[Check, ...]) -> list[Finding]:
    """Runs every check, in order; one that fails stops none of the others."""
    return [_examine(check) for check in checks]


def _examine(check: Check) -> Finding:
    try:
        return Finding(check.name, True, check.needed, check.run())
    except MissingError as missing:
        return Finding(check.name, False, check.needed, missing.detail, missing.remedy)
    except Exception as error:  # a check that breaks is a finding too
        said = str(error).strip().splitlines() or [""]
        return Finding(check.name, False, check.needed, f"{type(error).__name__}: {said[0]}")
