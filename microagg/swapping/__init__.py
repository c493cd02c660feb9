"""Probabilistic k-anonymity: confidential values permuted within groups of at least k records.

`methods` are the ways to mask and `swapped` is the result. `roles` says what attributes are,
`grouping` makes groups, `moves` permutes within them; `linkage` says how likely an intruder is
right, `correlations` what was lost.
"""
