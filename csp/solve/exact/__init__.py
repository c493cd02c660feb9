"""Proven cheapest patterns of any table, by cuts.

`cut_loop` is the order of all phases and `state` what they share. `master` is the program over all
cuts, with its `relaxation` (at the nodes of a tree, `node_relaxation`), the solver's own
`root_cuts` and `zero_half` cuts; `tree` branches; `unions` has the cuts for sums of cells. `guide`
says where patterns come from, `part_programs` improves them, `tiebreak` says which of the cheapest
is preferred.
"""
