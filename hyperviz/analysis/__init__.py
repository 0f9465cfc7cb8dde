"""Graph → facts: roles, memory, regions, cost. Never edits a graph."""

from hyperviz.analysis.apart import explain_apart
from hyperviz.analysis.balanced import Limits
from hyperviz.analysis.estimate import collective_ms, step_ms
from hyperviz.analysis.hardware import Hardware, hardware_named
from hyperviz.analysis.memory import Memory, written
from hyperviz.analysis.plan import group_settings, make_plan, plan_of
from hyperviz.analysis.regions import TAG, Regions, with_getitems_beside_producers
from hyperviz.analysis.roles import Placement, classify
from hyperviz.analysis.schedule import schedule_of
from hyperviz.analysis.strategies import find_regions
from hyperviz.analysis.timeline import estimate_timeline

__all__ = [
    "TAG",
    "Hardware",
    "Limits",
    "Memory",
    "Placement",
    "Regions",
    "classify",
    "collective_ms",
    "estimate_timeline",
    "explain_apart",
    "find_regions",
    "group_settings",
    "hardware_named",
    "make_plan",
    "plan_of",
    "schedule_of",
    "step_ms",
    "with_getitems_beside_producers",
    "written",
]
