"""Snapshot → DOT, SVG, PNG, PDF, HTML, text and plots. Knows no torch."""

from hyperviz.render.communication import CommunicationRow, communication, summary_of_windows
from hyperviz.render.dot import dot
from hyperviz.render.image import pdf, png
from hyperviz.render.layout import Layout, layout
from hyperviz.render.overlay import overlay
from hyperviz.render.plot_equality import plot_equality
from hyperviz.render.plot_ranks import plot_ranks
from hyperviz.render.plot_timeline import plot_timeline
from hyperviz.render.plot_timings import plot_timings
from hyperviz.render.report import html
from hyperviz.render.svg import svg
from hyperviz.render.table import PlanRow, plan_table
from hyperviz.render.text import text
from hyperviz.render.timeline_svg import WIDTH as TIMELINE_WIDTH
from hyperviz.render.timeline_svg import timeline_svg
from hyperviz.render.trace_json import trace_json

__all__ = [
    "TIMELINE_WIDTH",
    "CommunicationRow",
    "Layout",
    "PlanRow",
    "communication",
    "dot",
    "html",
    "layout",
    "overlay",
    "pdf",
    "plan_table",
    "plot_equality",
    "plot_ranks",
    "plot_timeline",
    "plot_timings",
    "png",
    "summary_of_windows",
    "svg",
    "text",
    "timeline_svg",
    "trace_json",
]
