"""Snapshot → DOT, SVG, PNG, PDF, HTML, text and plots. Knows no torch."""

from hyperviz.render.dot import dot
from hyperviz.render.layout import Layout, layout
from hyperviz.render.overlay import overlay
from hyperviz.render.svg import svg
from hyperviz.render.table import PlanRow, plan_table
from hyperviz.render.text import text

__all__ = ["Layout", "PlanRow", "dot", "layout", "overlay", "plan_table", "svg", "text"]
