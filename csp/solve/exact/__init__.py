"""Proven cheapest patterns of any table, by cuts.

`schedule` is the list of all phases, each a plug-in in the folder of its role (`heuristics`,
`separators`, `branching`), and `cut_loop` its driver. They share the `state` of a run and its
`separation`: separators by priority, and answers to proposed patterns. `master` is the program over
all cuts, with its `relaxation` and `zero_half` cuts; `unions` has the cuts for sums of cells. For
some dozens of cells `pattern_tree` is a branch and cut of its own, compiled, over relaxations by
`dual_simplex`.

Bounds of relaxations come from the multipliers of the cuts, so that the solver's tolerances cannot
raise them; those of integer programs are the solver's. What large networks do otherwise is tested
on tables for which one column enters at a time (`tests/csp/solve/exact/test_pricing.py`). The tree
keeps nodes as good as the incumbent while costs differ and ties are few, so that its end also
settles which of the cheapest patterns is preferred.
"""
