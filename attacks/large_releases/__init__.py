"""What a release of millions of cells discloses, where programs for each cell take too long.

`engine` puts it together: `propagation` tightens bounds relation by relation, `kernel_vectors`
suggest which cells the relations alone give, `proofs` finds and checks the multipliers in whole
numbers by `elimination` and `signed_classes`, and an `interior_point` says that no bound fixes
another cell. `whole_numbers` are looked for in `windows`, parts small enough for programs. `widths`
judge how close the others are known, `parallel_cells` are known to who knows one of them, and
`findings` are what an audit says. Floats suggest, whole numbers prove.

Checked on small tables against `attacks.disclosed` and by enumeration, on large ones by what was
planted (`tests/attacks/large_releases`).
"""
