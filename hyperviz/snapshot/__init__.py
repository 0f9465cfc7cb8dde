"""Frozen plain data: what was understood, ready to be drawn, saved and compared. Knows no torch."""

from hyperviz.snapshot.compilation import CompileReport, Progress, RegionReport
from hyperviz.snapshot.equality import VERDICTS, Equality, OutputEquality
from hyperviz.snapshot.graph import PHASES, GraphSnapshot, NodeSnapshot, SourceLine, TensorSnapshot
from hyperviz.snapshot.json import from_json, to_json
from hyperviz.snapshot.plan import MODES, ROLES, STRATEGIES, Plan, Region
from hyperviz.snapshot.setting import Setting
from hyperviz.snapshot.timing import Ratio, Timing, Timings

__all__ = [
    "MODES",
    "PHASES",
    "ROLES",
    "STRATEGIES",
    "VERDICTS",
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
    "to_json",
]
