"""The graph view and the explorer around it. Knows no torch."""
