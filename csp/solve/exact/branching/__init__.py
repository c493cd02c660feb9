"""Phases that close the gap: a `tree` with its `node_relaxation`, or integer `programs`.

Small relaxations of nodes are a `dense_program`, whose further rows wait in a `row_pool`;
`tiebreak` says which of the cheapest patterns is preferred.
"""
