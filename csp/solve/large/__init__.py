"""Tables of an office's size: witnesses from programs over a few hundred cells.

`engine` runs it all, with the witnesses of `csp.solve.witnesses`. `swaps` finds pairs of cells for
sparse tables, `regions` makes patterns cheaper by `region_programs`, whose cuts a `cut_pool` keeps
for the next ones, `relaxation` bounds their cost by the method of `first_order`.

Patterns and bounds are checked by brute force on every structure, lone contributors and whole
numbers included, and by scipy's linear programs (`tests/csp/solve/large/test_engine.py`).
"""
