"""Patterns of any table: witnesses, separation and searches that need no structure.

`separate` finds violated requirements by linear programs, `witness` and `witness_lp` the deviations
that meet them. `construct` and `local_search` make patterns of witnesses. In `neighbourhood` and
`descent` all primary cells move at once: `space` has the deviations, `tableau` their null space,
`rational` the exact form of what they find.
"""
