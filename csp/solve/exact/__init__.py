"""Proven cheapest patterns of any table, by cuts.

`cut_loop` is the order of all phases and `state` what they share. `master` is the program over all
cuts, with its `relaxation` and the solver's own `root_cuts`; `tree` branches; `unions` has the cuts
for sums of cells. `guide` says where patterns come from, `tiebreak` which of the cheapest is
preferred.
"""
