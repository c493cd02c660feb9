"""Tables of an office's size: witnesses from programs over a few hundred cells.

`engine` runs it all. `axes` has the dimensions and their trees, `recognition` finds them in the
relations alone. `field` holds what may move, `local` solves programs over parts of it, `swaps`
finds pairs of cells for sparse tables. `book` keeps the witnesses in use; `construct` makes a
first pattern of them, `exchange` and `regions` make it cheaper, `relaxation` bounds its cost.
"""
