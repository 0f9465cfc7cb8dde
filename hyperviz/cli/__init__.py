"""The command line: ``hyperviz demo | lab | doctor | export``."""

from hyperviz.cli.main import main

__all__ = ["main"]
