"""Controlled rounding: additive tables of multiples of a base, and what they disclose.

`neighbours` poses the choice between the two multiples next to each value, `network` makes it by
one linear program where that is enough, `programs` by integer programs in PuLP, from what
`improvement` finds for large tables; `small_counts` poses the same for counts below the base alone.
`rounded` is the result and its release, a kind of `perturbed` table, as one with noise is;
`controlled` is the public function, and `rounding_audit` judges the levels of sensitive cells, of
which `moves` finds intervals without a program.
`tests/csp/rounding` compares all of it with enumeration.
"""
