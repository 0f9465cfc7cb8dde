"""Small real models and real text, for demos and tests."""
