"""Proven cheapest patterns of any table, by cuts.

`schedule` is the list of all phases, each a plug-in in the folder of its role (`heuristics`,
`separators`, `branching`), and `cut_loop` its driver. They share the `state` of a run and its
`separation`: separators by priority, and answers to proposed patterns. `master` is the program over
all cuts, with its `relaxation` and `zero_half` cuts; `unions` has the cuts for sums of cells.
"""
