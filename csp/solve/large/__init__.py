"""Tables of an office's size: witnesses from programs over a few hundred cells.

`engine` runs it all, with the witnesses of `csp.solve.witnesses`. `swaps` finds pairs of cells for
sparse tables, `regions` makes patterns cheaper by `region_programs`, `relaxation` bounds their cost
by the method of `first_order`.
"""
