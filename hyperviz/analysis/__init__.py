"""Graph → facts: roles, memory, regions, cost. Never edits a graph."""

from hyperviz.analysis.memory import Memory, written
from hyperviz.analysis.plan import group_settings, make_plan, plan_of
from hyperviz.analysis.regions import TAG, Regions, find_regions, with_getitems_beside_producers
from hyperviz.analysis.roles import Placement, classify
from hyperviz.analysis.schedule import schedule_of

__all__ = [
    "TAG",
    "Memory",
    "Placement",
    "Regions",
    "classify",
    "find_regions",
    "group_settings",
    "make_plan",
    "plan_of",
    "schedule_of",
    "with_getitems_beside_producers",
    "written",
]
