"""The graph view and the explorer around it. Knows no torch."""

from hyperviz.widgets.backend import Backend, Knobs, Progress, Stopped
from hyperviz.widgets.explorer import Explorer
from hyperviz.widgets.graph_view import GraphView

__all__ = ["Backend", "Explorer", "GraphView", "Knobs", "Progress", "Stopped"]
