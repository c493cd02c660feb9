"""Phases that close the gap: a `tree` with its `node_relaxation`, or integer `programs`.

`tiebreak` says which of the cheapest patterns is preferred.
"""
