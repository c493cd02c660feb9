"""What the public sees of a protected table.

`release` is that and nothing else; `completion` finds a whole-number table that agrees with it.
"""
