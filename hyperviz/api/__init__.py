"""The verbs. The only place, with the command line, that composes rooms."""

from hyperviz.api.exporting import export, show
from hyperviz.api.parallel import apply_passes
from hyperviz.api.ranks import Ranks, run_on_ranks
from hyperviz.api.strategies import strategies
from hyperviz.api.timeline import timeline
from hyperviz.api.verbs import benchmark, compare, compile, explore, plan, why_apart

__all__ = [
    "Ranks",
    "apply_passes",
    "benchmark",
    "compare",
    "compile",
    "explore",
    "export",
    "plan",
    "run_on_ranks",
    "show",
    "strategies",
    "timeline",
    "why_apart",
]
