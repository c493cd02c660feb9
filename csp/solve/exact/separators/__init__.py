"""Phases that raise the bound by cuts of the relaxation.

`capacity` cuts come first, in rounds, before them what relations ask by themselves; then those that
the solver derives at the root of an integer program (`root_cuts`).
"""
