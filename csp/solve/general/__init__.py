"""Patterns of any table: witnesses, separation and searches that need no structure."""
