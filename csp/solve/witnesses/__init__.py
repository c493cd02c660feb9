"""Witnesses: directions in whole numbers that show, all by themselves, that levels are kept.

A pattern is safe if and only if every requirement has a witness whose moving cells it suppresses.
So searches may exchange witnesses instead of cells. `field` holds what may move, `block` solves
programs over a part of it, `book` keeps the witnesses in use; `construct` makes a first pattern of
them, with `rescue` for what no block serves, and `exchange` a cheaper one. `axes` has the
dimensions of a table and their trees, `recognition` finds them in the relations alone.

Checked in fractions and whole numbers of Python (`tests/support/witnesses.py`). The audit checks
witnesses like any other claim; without them an interval end of a table with many thousand relations
can take seconds.
"""
