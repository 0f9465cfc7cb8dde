"""Frozen plain data: what was understood, ready to be drawn, saved and compared. Knows no torch."""

from hyperviz.snapshot.apart import WHY_APART, Apart, Between, JoinCost, Tie, hold_words, path_words
from hyperviz.snapshot.compilation import CompileReport, OrderCheck, Progress, RegionReport
from hyperviz.snapshot.equality import VERDICTS, Equality, OutputEquality
from hyperviz.snapshot.graph import PHASES, GraphSnapshot, NodeSnapshot, SourceLine, TensorSnapshot, not_run
from hyperviz.snapshot.json import from_json, to_json
from hyperviz.snapshot.plan import MODES, ROLES, STRATEGIES, Plan, Region
from hyperviz.snapshot.ranks import RankReports, RankResult
from hyperviz.snapshot.schedule import STEP_KINDS, Collective, Kernel, LiveValue, Schedule, Step
from hyperviz.snapshot.setting import Setting
from hyperviz.snapshot.strategies import COST_HEADINGS, StrategyCost, StrategyCosts, cost_row
from hyperviz.snapshot.timeline import COMPUTE, SPAN_KINDS, CollectiveTime, MemoryPoint, Span, Timeline, Timelines
from hyperviz.snapshot.timing import Ratio, Timing, Timings
from hyperviz.snapshot.windows import Move, Window, moves_of, steps_of, windows_in, windows_of

__all__ = [
    "COMPUTE",
    "COST_HEADINGS",
    "MODES",
    "PHASES",
    "ROLES",
    "SPAN_KINDS",
    "STEP_KINDS",
    "STRATEGIES",
    "VERDICTS",
    "WHY_APART",
    "Apart",
    "Between",
    "Collective",
    "CollectiveTime",
    "CompileReport",
    "Equality",
    "GraphSnapshot",
    "JoinCost",
    "Kernel",
    "LiveValue",
    "MemoryPoint",
    "Move",
    "NodeSnapshot",
    "OrderCheck",
    "OutputEquality",
    "Plan",
    "Progress",
    "RankReports",
    "RankResult",
    "Ratio",
    "Region",
    "RegionReport",
    "Schedule",
    "Setting",
    "SourceLine",
    "Span",
    "Step",
    "StrategyCost",
    "StrategyCosts",
    "TensorSnapshot",
    "Tie",
    "Timeline",
    "Timelines",
    "Timing",
    "Timings",
    "Window",
    "cost_row",
    "from_json",
    "hold_words",
    "moves_of",
    "not_run",
    "path_words",
    "steps_of",
    "to_json",
    "windows_in",
    "windows_of",
]
