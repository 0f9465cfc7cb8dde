"""Graph → facts: roles, effects, regions, cost. Never edits a graph."""
