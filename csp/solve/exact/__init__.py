"""Proven cheapest patterns of any table, by cuts.

`cut_loop` is the order of all phases and `state` what they share. `master` is the program over all
cuts, with its `relaxation` (at the nodes of a tree, `node_relaxation`), the solver's own
`root_cuts` and `zero_half` cuts; `tree` branches; `unions` has the cuts for sums of cells. `guide`
says where patterns come from, `part_programs` improves them, `tiebreak` says which of the cheapest
is preferred.

Bounds of relaxations come from the multipliers of the cuts, so that the solver's tolerances cannot
raise them; those of integer programs are the solver's. What large networks do otherwise is tested
on tables for which one column enters at a time (`tests/csp/solve/exact/test_pricing.py`). The tree
keeps nodes as good as the incumbent while costs differ and ties are few, so that its end also
settles which of the cheapest patterns is preferred.
"""
