"""Records in; text, JSON or HTML out. Pure functions."""
