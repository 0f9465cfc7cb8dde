"""Programs → joint graphs."""
