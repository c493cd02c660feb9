"""Patterns of any table by searches that need no structure.

`separate` finds violated requirements by linear programs. In `neighbourhood` and `descent` all
primary cells move at once: `tableau` has the null space of the relations, `whole_vectors` the exact
form of what they find, and `threads` holds linear algebra to one thread.
"""
