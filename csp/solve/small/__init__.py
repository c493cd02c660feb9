"""Tables of up to 64 cells: the canonical pattern by compiled search over bit masks.

`one` solves a table, `many` and `batch` many at once; `flow` and `search` are what they share.
"""
