"""Hierarchies: how the codes of a dimension add up, and files and frames that say so."""
