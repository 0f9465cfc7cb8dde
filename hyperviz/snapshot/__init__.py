"""Frozen plain data: what was understood, ready to be drawn, saved and compared. Knows no torch."""

from hyperviz.snapshot.compilation import CompileReport, Progress, RegionReport
from hyperviz.snapshot.equality import VERDICTS, Equality, OutputEquality
from hyperviz.snapshot.graph import PHASES, GraphSnapshot, NodeSnapshot, SourceLine, TensorSnapshot, not_run
from hyperviz.snapshot.json import from_json, to_json
from hyperviz.snapshot.plan import MODES, ROLES, STRATEGIES, Plan, Region
from hyperviz.snapshot.schedule import Collective
from hyperviz.snapshot.setting import Setting
from hyperviz.snapshot.timing import Ratio, Timing, Timings

__all__ = [
    "MODES",
    "PHASES",
    "ROLES",
    "STRATEGIES",
    "VERDICTS",
    "Collective",
    "CompileReport",
    "Equality",
    "GraphSnapshot",
    "NodeSnapshot",
    "OutputEquality",
    "Plan",
    "Progress",
    "Ratio",
    "Region",
    "RegionReport",
    "Setting",
    "SourceLine",
    "TensorSnapshot",
    "Timing",
    "Timings",
    "from_json",
    "not_run",
    "to_json",
]
