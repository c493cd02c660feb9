"""Hierarchies: how the codes of a dimension add up, and files and frames that say so.

`hierarchy` is the value, `trees` makes it of child and parent in many forms, `hrc` of a file of
τ-ARGUS. `coding` finds the codes of records in it, `totals` the totals that hide among the codes,
`orders` arranges codes without one, `recoding` joins some.
"""
