"""Snapshot → DOT, SVG, PNG, PDF, HTML, text and plots. Knows no torch."""
