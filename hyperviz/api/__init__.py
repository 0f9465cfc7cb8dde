"""The verbs. The only place, with the command line, that composes rooms."""

from hyperviz.api.exporting import export, show
from hyperviz.api.verbs import benchmark, compare, compile, explore, plan

__all__ = ["benchmark", "compare", "compile", "explore", "export", "plan", "show"]
