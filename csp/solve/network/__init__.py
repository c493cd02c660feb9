"""Patterns of tables that are networks: two-way tables, and hierarchies in one dimension of two.

`paths` makes patterns of cheapest paths, `separate` finds violated requirements by minimum cuts,
`node_cuts` keeps cuts of large tables as sets of nodes.
"""
