"""Snapshot → DOT, SVG, PNG, PDF, HTML, text and plots. Knows no torch."""

from hyperviz.render.layout import Layout, layout
from hyperviz.render.overlay import overlay
from hyperviz.render.svg import svg

__all__ = ["Layout", "layout", "overlay", "svg"]
