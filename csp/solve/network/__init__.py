"""Patterns of tables that are networks: two-way tables, and hierarchies in one dimension of two.

`network` is the graph of the cells that a pattern may hide; `paths` makes patterns of cheapest
paths in it, `separate` finds violated requirements by minimum cuts, `node_cuts` keeps cuts of large
tables as sets of nodes.
"""
