"""Patterns of any table by searches that need no structure.

`separate` finds violated requirements by linear programs, which `kernel_program` solves on small
tables. In `neighbourhood` and `descent` all primary cells move at once: `tableau` has the null
space of the relations, `classes` the cells that move together in it, `rooms` how far it lets
primary cells move, `whole_vectors` the exact form of what is found, and `threads` holds linear
algebra to one thread.
"""
